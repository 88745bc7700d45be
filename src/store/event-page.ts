import type { LogEvent } from '../log/events.ts'
import { maxStoredEventBytes } from './checks.ts'
import type { StoredEvent } from './driver.ts'
import { decodeEvent } from './rows.ts'
import type { EventPage, EventPlace, EventRange } from './store.ts'

/** What a driver read, as a page of the range it was asked for. */
export function eventPage(id: string, rows: readonly StoredEvent[], range: EventRange): EventPage {
  return {
    events: { [Symbol.iterator]: () => decoded(id, rows) },
    first: placeOf(rows[0]),
    last: placeOf(rows.at(-1)),
    hasMore: rows.length > 0 && hasMore(rows, range),
  }
}

function placeOf(row: StoredEvent | undefined): EventPlace | null {
  return row ? { seq: row.seq, at: row.at } : null
}

function* decoded(id: string, rows: readonly StoredEvent[]): Generator<LogEvent> {
  for (const row of rows) yield decodeEvent(id, row)
}

function hasMore(
  rows: readonly StoredEvent[],
  { after = 0, before, limit, maxBytes, keep = 'newest' }: EventRange,
): boolean {
  // A log has no gaps.
  if (keep === 'newest') return rows[0]!.seq > after + 1
  if (before !== undefined && rows.at(-1)!.seq >= before - 1) return false
  return rows.length === limit || (maxBytes !== undefined && mayBeCut(rows, maxBytes))
}

/** A page has as many events as fit, so one that has room for the largest was not cut. A UTF-16 unit has at most three bytes in UTF-8. */
function mayBeCut(rows: readonly StoredEvent[], maxBytes: number): boolean {
  let units = 0
  for (const { content } of rows) units += content.length
  return units * 3 + maxStoredEventBytes > maxBytes
}
