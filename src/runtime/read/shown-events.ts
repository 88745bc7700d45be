import type { LogEvent } from '../../log/events.ts'
import type { EventPage, EventRange, TenantStore } from '../../store/store.ts'
import { withoutWithheld } from '../../view/without-withheld.ts'

type Read = (range: EventRange) => Promise<readonly LogEvent[]>

/** Pages of a log as every reader but an operator gets them: messages that no hook has passed are empty. */
export async function* shownPages(
  store: Pick<TenantStore, 'streamEvents'>,
  id: string,
  pages: AsyncIterable<EventPage>,
): AsyncGenerator<EventPage, void, void> {
  for await (const page of pages) {
    const before = await eventBefore((range) => store.streamEvents(id, range), startOf(page))
    yield { ...page, events: { [Symbol.iterator]: () => withoutWithheld(page.events, before) } }
  }
}

type Start = Pick<LogEvent, 'type' | 'seq'>

/** Holds no event: one may take twenty times its bytes when it is decoded. */
function startOf(page: EventPage): Start | undefined {
  const [first] = page.events
  return first && { type: first.type, seq: first.seq }
}

/** Reads the event before a page that begins with a message, where it is the mark of a withheld one. Null for every other page, so that its reader holds no event that means nothing to it. */
export async function eventBefore(read: Read, first: Start | undefined): Promise<LogEvent | null> {
  if (first?.type !== 'assistant_msg' || first.seq === 1) return null
  const [before] = await read({ after: first.seq - 2, before: first.seq })
  return before?.type === 'withheld' ? before : null
}
