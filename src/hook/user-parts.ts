import { InvalidArgumentError } from '../errors/store-errors.ts'
import { isBlobRef } from '../log/blob-ref.ts'
import { encode } from '../log/codec.ts'
import type { UserPart } from '../log/events.ts'

/** What may be injected: text, a part, or several parts. */
export type PartsInput = string | UserPart | readonly UserPart[]

/** Checked, frozen copies. Empty texts are left out, because providers refuse them. Throws on anything that is not a part. */
export function toUserParts(input: unknown): readonly UserPart[] {
  const parts = Array.isArray(input) ? input.map(toPart) : [toPart(input, 0)]
  return Object.freeze(parts.filter((part) => part.type !== 'text' || part.text !== ''))
}

function toPart(value: unknown, index: number): UserPart {
  const name = `parts[${index}]`
  if (typeof value === 'string') return Object.freeze({ type: 'text', text: value })
  const part = Object(value) as Partial<UserPart>
  if (!isTextPart(part) && !isFilePart(part)) {
    throw new InvalidArgumentError(name, 'must be a string, a text part or a file part (data: a URL or a blob ref)')
  }
  encode(part, name)
  return Object.freeze({ ...part })
}

function isTextPart(part: Partial<UserPart>): part is Extract<UserPart, { type: 'text' }> {
  return part.type === 'text' && typeof part.text === 'string'
}

function isFilePart(part: Partial<UserPart>): part is Extract<UserPart, { type: 'file' }> {
  if (part.type !== 'file' || typeof part.mediaType !== 'string') return false
  if (part.filename !== undefined && typeof part.filename !== 'string') return false
  return typeof part.data === 'string' || isBlobRef(part.data)
}
