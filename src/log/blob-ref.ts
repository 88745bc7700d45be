import type { Json, JsonObject } from '../base/json.ts'

/** Names bytes kept in the store. Events hold these, never the bytes. */
export type BlobRef = {
  /** SHA-256 of the bytes, 64 lower-case hexadecimal digits. */
  readonly blob: string
  readonly mediaType: string
  readonly size: number
}

export function isBlobRef(value: unknown): value is BlobRef {
  if (typeof value !== 'object' || value === null) return false
  const { blob, mediaType, size } = value as Partial<BlobRef>
  return (
    typeof blob === 'string' &&
    /^[0-9a-f]{64}$/.test(blob) &&
    typeof mediaType === 'string' &&
    Number.isSafeInteger(size)
  )
}

/** The hashes of all blob refs anywhere in a value, each once. */
export function blobRefsIn(value: Json): string[] {
  const hashes = new Set<string>()
  collect(value, hashes)
  return [...hashes]
}

function collect(value: Json, hashes: Set<string>): void {
  if (typeof value !== 'object' || value === null) return
  if (isBlobRef(value)) hashes.add(value.blob)
  for (const member of Object.values(value)) collect(member, hashes)
}

/** A longer URL is a file in disguise, or a mistake. */
const maxUrlLength = 8_192

/** Whether the text is an http or https URL. Pages may link to such a URL; they must not link to `javascript:`, `file:` and the like. */
export function isWebUrl(text: string): boolean {
  if (text.length > maxUrlLength || !URL.canParse(text)) return false
  const { protocol } = new URL(text)
  return protocol === 'http:' || protocol === 'https:'
}

/** Whether the text is a web URL or a `data:` URL. */
export function isFileUrl(text: string): boolean {
  return isDataUrl(text) || isWebUrl(text)
}

export function isDataUrl(text: string): boolean {
  return /^data:/i.test(text)
}

/** Drops the URL of a source unless it is a web URL, because pages turn it into a link. */
export function withWebUrl(source: JsonObject): JsonObject {
  const { url, ...rest } = source
  return url === undefined || (typeof url === 'string' && isWebUrl(url)) ? source : rest
}
