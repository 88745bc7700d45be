import type { LogEvent } from '../log/events.ts'
import { foldEvents } from '../log/fold-events.ts'
import { emptyState } from '../log/state.ts'
import type { TenantStore } from '../store/store.ts'
import type { ViewMessage } from '../view/view.ts'
import { viewOf } from '../view/view-of.ts'

/** A page of what was said. */
export type HistoryPage = {
  /** Oldest first; whole turns. */
  readonly messages: readonly ViewMessage[]
  /** Pass it to get the page before this one; null when there is none. */
  readonly before: number | null
}

const eventsPerTurn = 16

/** The newest `limit` turns that began before a seq. */
export async function history(
  store: TenantStore,
  id: string,
  { before, limit = 20 }: { before?: number; limit?: number } = {},
): Promise<HistoryPage> {
  for (let read = limit * eventsPerTurn; ; read *= 4) {
    const events = await store.streamEvents(id, { ...(before === undefined ? {} : { before }), limit: read })
    const isWhole = events.length < read || events[0]?.seq === 1
    const starts = turnStarts(events)
    if (!isWhole && starts.length <= limit) continue
    const page = starts.slice(-limit)
    const [first] = page
    if (!first) return { messages: [], before: null }
    // The turn before the page tells whether the first one of it is still queued.
    const folded = starts.slice(-limit - 1)
    const rest = before === undefined ? [] : await readToEnd(store, id, events, page)
    const messages = fold(id, [...events, ...rest], folded)
    const isInPage = new Set(page.map(({ turnId }) => turnId))
    return {
      messages: messages.filter(({ turnId }) => isInPage.has(turnId)),
      before: isWhole && first === starts[0] ? null : first.seq,
    }
  }
}

type Start = { readonly turnId: string; readonly seq: number }

/** Of each turn, its first message. */
function turnStarts(events: readonly LogEvent[]): Start[] {
  const seen = new Set<string>()
  return events.flatMap((event) => {
    if (event.type !== 'user_msg' || seen.has(event.content.turnId)) return []
    seen.add(event.content.turnId)
    return [{ turnId: event.content.turnId, seq: event.seq }]
  })
}

/** A turn that was queued ends after later ones have begun: what is left of the page's turns is read on from there. */
async function readToEnd(
  store: TenantStore,
  id: string,
  events: readonly LogEvent[],
  page: readonly Start[],
): Promise<LogEvent[]> {
  const open = new Set(page.map(({ turnId }) => turnId))
  const rest: LogEvent[] = []
  const close = ({ type, content }: LogEvent) => type === 'turn_ended' && open.delete(content.turnId)
  events.forEach(close)
  let after = events.at(-1)?.seq ?? 0
  for (let read = page.length * eventsPerTurn; open.size > 0; read *= 4) {
    const more = await store.streamEvents(id, { after, before: after + 1 + read })
    if (more.length === 0) break
    more.forEach(close)
    rest.push(...more)
    after = more.at(-1)!.seq
  }
  return rest
}

/** Folds only these turns, in places of their own. */
function fold(id: string, events: readonly LogEvent[], turns: readonly Start[]): readonly ViewMessage[] {
  const names = new Set(turns.map(({ turnId }) => turnId))
  const from = turns[0]?.seq ?? 0
  const own: LogEvent[] = []
  const places: number[] = []
  for (const event of events) {
    if (event.seq < from || !isAbout(event, names)) continue
    if (event.type === 'assistant_msg') names.add(event.content.messageId)
    if (event.type === 'tool_call') names.add(event.content.callId)
    places.push(event.seq)
    own.push({ ...event, seq: places.length })
  }
  const { messages } = viewOf(id, foldEvents(own, emptyState))
  return messages.map((message) => ({ ...message, seq: places[message.seq - 1]! }))
}

function isAbout({ content }: LogEvent, names: ReadonlySet<string>): boolean {
  const { turnId, callId, messageId } = content as { turnId?: string; callId?: string; messageId?: string }
  const name = turnId ?? callId ?? messageId
  return name !== undefined && names.has(name)
}
