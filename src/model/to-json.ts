import type { Json, JsonObject } from '../base/json.ts'
import { isRecord } from '../base/untrusted.ts'

/** Far deeper than any real value, and shallow enough for the log's codec wherever it is put in an event. */
const maxDepth = 200

/** A plain JSON copy of something a provider made; undefined when there is none. Never throws. */
export function toJson(value: unknown): Json | undefined {
  try {
    const text = JSON.stringify(value)
    if (text === undefined) return undefined
    const copy = JSON.parse(text) as Json
    return isShallow(copy, maxDepth) ? copy : undefined
  } catch {
    return undefined
  }
}

export function toJsonObject(value: unknown): JsonObject | undefined {
  const copy = toJson(value)
  return isRecord(copy) ? (copy as JsonObject) : undefined
}

function isShallow(value: Json, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  return depth > 0 && Object.values(value).every((member) => isShallow(member, depth - 1))
}
