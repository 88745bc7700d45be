import type { LogEvent } from '../log/events.ts'
import type { EventRange } from '../store/store.ts'
import { withoutWithheld } from '../view/without-withheld.ts'

type Read = (range: EventRange) => Promise<readonly LogEvent[]>

/** Reads events as every reader but an operator gets them. */
export async function shownEvents(read: Read, range: EventRange): Promise<readonly LogEvent[]> {
  const events = await read(range)
  return withoutWithheld(events, await eventBefore(read, events))
}

/** Reads the event before a page that begins with a message: it is the mark of a withheld one. Null for every other page. */
export async function eventBefore(read: Read, [first]: readonly LogEvent[]): Promise<LogEvent | null> {
  if (first?.type !== 'assistant_msg' || first.seq === 1) return null
  const [before = null] = await read({ after: first.seq - 2, before: first.seq })
  return before
}
