import { InvalidArgumentError } from '../errors/store-errors.ts'
import type { BlobRef } from '../log/blob-ref.ts'
import { isBlobRef } from '../log/blob-ref.ts'
import type { UserMessage, UserPart } from '../log/events.ts'
import type { TenantStore } from '../store/store.ts'

/** What a person says: text, or parts; a file's bytes go into a blob, a string is its URL. */
export type MessageInput = string | readonly InputPart[] | { readonly parts: readonly InputPart[] }

export type InputPart =
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'file'
      readonly mediaType: string
      readonly data: Uint8Array | URL | BlobRef | string
      readonly filename?: string
    }

export async function toUserMessage(input: MessageInput, store: TenantStore): Promise<UserMessage> {
  const parts =
    typeof input === 'string' ? [{ type: 'text' as const, text: input }] : 'parts' in input ? input.parts : input
  if (!Array.isArray(parts)) throw new InvalidArgumentError('message', 'must be text, or a list of text and file parts')
  const isEmpty = parts.every(
    (part) => part?.type === 'text' && (typeof part.text !== 'string' || part.text.trim() === ''),
  )
  if (isEmpty) throw new InvalidArgumentError('message', 'is empty; send some text or a file')
  return { parts: await Promise.all(parts.map((part, index) => toUserPart(part, index, store))) }
}

async function toUserPart(part: InputPart, index: number, store: TenantStore): Promise<UserPart> {
  if (part?.type === 'text' && typeof part.text === 'string') return { type: 'text', text: part.text }
  if (part?.type !== 'file' || typeof part.mediaType !== 'string') {
    throw new InvalidArgumentError(
      `message part ${index}`,
      "must be { type: 'text', text } or { type: 'file', mediaType, data }",
    )
  }
  const { mediaType, data, filename } = part
  return {
    type: 'file',
    mediaType,
    data: await toData(data, mediaType, index, store),
    ...(filename === undefined ? {} : { filename }),
  }
}

async function toData(
  data: Uint8Array | URL | BlobRef | string,
  mediaType: string,
  index: number,
  store: TenantStore,
): Promise<BlobRef | string> {
  if (data instanceof Uint8Array) return store.putBlob(data, mediaType)
  if (data instanceof URL) return data.href
  if (isBlobRef(data)) return data
  if (typeof data === 'string' && URL.canParse(data)) return data
  throw new InvalidArgumentError(`message part ${index}`, 'must have a Uint8Array, a URL or a blob ref as its data')
}
