import type { LogEvent } from '../../log/events.ts'
import { readRange } from '../../store/read-ranges.ts'
import type { EventRange, TenantStore } from '../../store/store.ts'
import { pageBytes } from './history.ts'

/** A page of the log: onwards from `after` where it is given, else the newest. */
export async function readEvents(store: TenantStore, id: string, range?: EventRange): Promise<LogEvent[]> {
  return store.streamEvents(id, pageOf(readRange(range)))
}

/** With the defaults of a page written in. */
function pageOf(range: EventRange): EventRange {
  return { maxBytes: pageBytes, keep: range.after === undefined ? 'newest' : 'oldest', ...range }
}
