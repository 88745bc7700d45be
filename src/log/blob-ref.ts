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
  const found = new Set<string>()
  collect(value, found)
  return [...found]
}

function collect(value: Json, found: Set<string>): void {
  if (typeof value !== 'object' || value === null) return
  if (isBlobRef(value)) found.add(value.blob)
  for (const member of Object.values(value)) collect(member, found)
}

/** Longer addresses are files in disguise, or mistakes. */
const maxUrlLength = 8_192

/**
 * Whether something is an address on the web. Whoever shows a message may make a link of what this says yes to; `javascript:`, `file:` and whatever else a
 * browser or a program takes for an address is none.
 */
export function isWebUrl(text: string): boolean {
  if (text.length > maxUrlLength || !URL.canParse(text)) return false
  const { protocol } = new URL(text)
  return protocol === 'http:' || protocol === 'https:'
}

/** The same, or a file that the address itself holds. */
export function isFileUrl(text: string): boolean {
  return isDataUrl(text) || isWebUrl(text)
}

export function isDataUrl(text: string): boolean {
  return /^data:/i.test(text)
}

/** A source without an address that is not on the web: pages make a link of it. */
export function withWebUrl(source: JsonObject): JsonObject {
  const { url, ...rest } = source
  return url === undefined || (typeof url === 'string' && isWebUrl(url)) ? source : rest
}
