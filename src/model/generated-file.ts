import { isRecord, textOf } from '../base/untrusted.ts'
import { isDataUrl, isWebUrl } from '../log/file-url.ts'
import type { GeneratedFile } from './message-draft.ts'

/** A `file` part of a stream: v3 has bytes or base64 bare, v4 in a tagged object. Null when there is nothing in it. */
export function generatedFile(part: { readonly [key: string]: unknown }): GeneratedFile | null {
  const { data } = part
  const content = contentOf(
    isRecord(data) && !isBare(data) ? (data['type'] === 'url' ? data['url'] : data['data']) : data,
  )
  const mediaType = mediaTypeOf(part['mediaType'])
  return content === null ? null : { type: 'file', mediaType, data: content }
}

/** Providers make up what they do not know. */
function mediaTypeOf(given: unknown): string {
  const text = textOf(given) ?? ''
  return /^[\x20-\x7e]{1,255}$/.test(text) ? text : 'application/octet-stream'
}

function isBare(data: object): boolean {
  return data instanceof Uint8Array || data instanceof URL
}

function contentOf(data: unknown): Uint8Array | string | null {
  // A copy, because a provider may go on using its buffer.
  if (data instanceof Uint8Array) return data.length > 0 ? new Uint8Array(data) : null
  const text = data instanceof URL ? data.href : data
  if (typeof text !== 'string') return null
  if (isDataUrl(text)) return bytesOf(text.slice(text.indexOf(',') + 1))
  // Base64 has no colon, so that whatever else a browser would open is left out.
  if (text.includes(':')) return isWebUrl(text) ? text : null
  return bytesOf(text)
}

function bytesOf(base64: string): Uint8Array | null {
  const bytes = Buffer.from(base64, 'base64')
  return bytes.length > 0 ? new Uint8Array(bytes) : null
}
