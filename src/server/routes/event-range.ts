import type { JsonObject } from '../../log/json.ts'
import type { EventRange } from '../../store/store.ts'
import { limit, object, seq } from '../schemas.ts'

const pageOfEvents = 200

export const eventRange: JsonObject = object({ after: seq, before: seq, limit: limit(1000) })

/** Onwards from `after` where it is given; a store's own limit keeps the newest. */
export function rangeOf(query: Readonly<Record<string, unknown>>): EventRange {
  const { after, before, limit: most = pageOfEvents } = query as Record<string, number | undefined>
  const range = after === undefined ? { limit: most } : { after, limit: most }
  const end = after === undefined ? before : Math.min(before ?? Number.MAX_SAFE_INTEGER, after + most + 1)
  return end === undefined ? range : { ...range, before: end }
}
