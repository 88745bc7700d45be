import type { JsonObject } from '../base/json.ts'

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
