import { InvalidArgumentError } from '../base/errors/store-errors.ts'
import { isBlobRef } from '../log/blob-ref.ts'
import { encode } from '../log/codec.ts'
import type { FilePart, TextPart, UserPart } from '../log/events.ts'
import { isFileUrl } from '../log/file-url.ts'

/** What may be injected: text, a part, or several parts. */
export type PartsInput = string | UserPart | readonly UserPart[]

/** Checked, frozen copies of what is known of a part. Empty texts are left out, because providers refuse them. Throws on anything that is not a part. */
export function toUserParts(input: unknown): readonly UserPart[] {
  const parts = Array.isArray(input) ? input.map(toPart) : [toPart(input, 0)]
  return Object.freeze(parts.filter((part) => part.type !== 'text' || part.text !== ''))
}

function toPart(value: unknown, index: number): UserPart {
  const name = `parts[${index}]`
  const part: unknown = typeof value === 'string' ? { type: 'text', text: value } : value
  encode(part, name)
  const known = textPart(part as Partial<TextPart> | null) ?? filePart(part as Partial<FilePart> | null)
  if (known) return Object.freeze(known)
  throw new InvalidArgumentError(
    name,
    'must be a string, a text part or a file part (data: a blob ref, or a URL with http, https or data)',
  )
}

function textPart(part: Partial<TextPart> | null): TextPart | null {
  if (part?.type !== 'text' || typeof part.text !== 'string') return null
  const { type, text, providerMetadata } = part
  if (providerMetadata === undefined) return { type, text }
  return isObject(providerMetadata) ? { type, text, providerMetadata } : null
}

function filePart(part: Partial<FilePart> | null): FilePart | null {
  if (part?.type !== 'file' || typeof part.mediaType !== 'string' || part.mediaType === '') return null
  const { type, mediaType, data, filename } = part
  if (!isBlobRef(data) && (typeof data !== 'string' || !isFileUrl(data))) return null
  if (filename === undefined) return { type, mediaType, data }
  return typeof filename === 'string' ? { type, mediaType, data, filename } : null
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
