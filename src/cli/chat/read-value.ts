import type { Json } from '../../base/json.ts'

/** JSON where it is JSON, else the text itself. */
export function readJsonOrText(text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    return text
  }
}
