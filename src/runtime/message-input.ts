import { createHash } from 'node:crypto'
import { readGiven } from '../base/errors/read-given.ts'
import { InvalidArgumentError } from '../base/errors/store-errors.ts'
import { type BlobRef, isBlobRef } from '../log/blob-ref.ts'
import type { UserMessage, UserPart } from '../log/events.ts'
import { isDataUrl, isWebUrl } from '../log/file-url.ts'
import { bytesOfDataUrl, maxDataUrlBytes } from './data-url.ts'

/** What a person says: text, or parts. A file's bytes go into a blob, also those of a `data:` URL; any other string is its URL, with http or https. */
export type MessageInput = string | readonly InputPart[] | { readonly parts: readonly InputPart[] }

/** A part of what a person says. */
export type InputPart =
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'file'
      readonly mediaType: string
      readonly data: Uint8Array | URL | BlobRef | string
      readonly filename?: string
    }

/** A message as it is recorded, and the files it refers to, each once. Nothing of them is stored yet. */
export type ReadMessage = { readonly message: UserMessage; readonly files: readonly NewFile[] }

type NewFile = { readonly bytes: Uint8Array; readonly mediaType: string }

/** More are a mistake, and each costs a look. */
const mostParts = 10_000

/** Throws `InvalidArgumentError` for what is no message, or cannot be read. */
export function readMessage(input: MessageInput): ReadMessage {
  return readGiven('message', () => readParts(partsOf(input)))
}

function readParts(parts: readonly InputPart[]): ReadMessage {
  if (parts.length > mostParts) {
    throw new InvalidArgumentError('message', `has ${parts.length} parts; the limit is ${mostParts}`)
  }
  const isEmpty = parts.every(
    (part) => part?.type === 'text' && (typeof part.text !== 'string' || part.text.trim() === ''),
  )
  if (isEmpty) throw new InvalidArgumentError('message', 'is empty; send some text or a file')
  const files = new Map<string, NewFile>()
  const message = { parts: parts.map((part, index) => toUserPart(part, index, files)) }
  return { message, files: [...files.values()] }
}

function partsOf(input: MessageInput): readonly InputPart[] {
  if (typeof input === 'string') return [{ type: 'text', text: input }]
  const parts: unknown = Array.isArray(input) ? input : Object(input).parts
  if (Array.isArray(parts)) return parts
  throw new InvalidArgumentError('message', 'must be text, or a list of text and file parts')
}

function toUserPart(part: InputPart, index: number, files: Map<string, NewFile>): UserPart {
  // Each member is read once: a getter may tell something else the next time.
  const { type, text, mediaType, data, filename } = Object(part) as Partial<Record<string, unknown>>
  if (type === 'text' && typeof text === 'string') return { type, text }
  const isNamed = filename === undefined || typeof filename === 'string'
  if (type !== 'file' || typeof mediaType !== 'string' || !isNamed) {
    throw new InvalidArgumentError(
      `message part ${index}`,
      "must be { type: 'text', text } or { type: 'file', mediaType, data, filename? }",
    )
  }
  const name = filename === undefined ? {} : { filename }
  const bytes = bytesOf(data, index)
  if (bytes === null) return { type: 'file', mediaType, data: addressOf(data, index), ...name }
  const blob = createHash('sha256').update(bytes).digest('hex')
  files.set(blob, { bytes, mediaType })
  return { type: 'file', mediaType, data: { blob, mediaType, size: bytes.byteLength }, ...name }
}

/** Null where they are somewhere else. */
function bytesOf(data: unknown, index: number): Uint8Array | null {
  if (data instanceof Uint8Array) return data
  const text = data instanceof URL ? data.href : data
  if (typeof text !== 'string' || !isDataUrl(text)) return null
  const bytes = bytesOfDataUrl(text)
  if (bytes) return bytes
  const problem = `has a data: URL that cannot be read, or holds more than ${maxDataUrlBytes} bytes; pass a Uint8Array`
  throw new InvalidArgumentError(`message part ${index}`, problem)
}

function addressOf(data: unknown, index: number): BlobRef | string {
  // A copy: what is sent goes on being used as it was recorded, whatever the caller does with its own.
  if (isBlobRef(data)) return { blob: data.blob, mediaType: data.mediaType, size: data.size }
  const text = data instanceof URL ? data.href : data
  if (typeof text === 'string' && isWebUrl(text)) return text
  const allowed = 'must have a Uint8Array, a blob ref, or a URL with http, https or data as its data'
  throw new InvalidArgumentError(`message part ${index}`, allowed)
}
