import type { LogEvent } from '../log/events.ts'
import { foldEvents } from '../log/fold-events.ts'
import { emptyState } from '../log/state.ts'
import type { TenantStore } from '../store/store.ts'
import type { ViewMessage } from '../view/view.ts'
import { viewOf } from '../view/view-of.ts'

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
    const first = starts.at(-limit) ?? starts[0]
    if (first === undefined) return { messages: [], before: null }
    const messages = fold(id, events, first)
    return { messages, before: isWhole && first === starts[0] ? null : first }
  }
}

/** Seqs of the messages that began a turn. */
function turnStarts(events: readonly LogEvent[]): number[] {
  const seen = new Set<string>()
  return events.flatMap((event) => {
    if (event.type !== 'user_msg' || seen.has(event.content.turnId)) return []
    seen.add(event.content.turnId)
    return [event.seq]
  })
}

/** Folds only the turns that begin in the page; what is left of earlier ones belongs to the page before. */
function fold(id: string, events: readonly LogEvent[], from: number): readonly ViewMessage[] {
  const names = new Set<string>()
  const own: LogEvent[] = []
  const places: number[] = []
  for (const event of events) {
    if (event.seq < from) continue
    if (event.type === 'user_msg') names.add(event.content.turnId)
    if (event.type === 'assistant_msg') names.add(event.content.messageId)
    if (event.type === 'tool_call' && names.has(event.content.turnId)) names.add(event.content.callId)
    if (!isAbout(event, names)) continue
    places.push(event.seq)
    own.push({ ...event, seq: places.length })
  }
  const { messages } = viewOf(id, foldEvents(own, emptyState))
  return messages.map((message) => ({ ...message, seq: places[message.seq - 1]! }))
}

function isAbout({ type, content }: LogEvent, names: ReadonlySet<string>): boolean {
  if (type === 'titled' || type === 'seeded') return true
  const { turnId, callId, messageId } = content as { turnId?: string; callId?: string; messageId?: string }
  const name = turnId ?? callId ?? messageId
  return name !== undefined && names.has(name)
}
