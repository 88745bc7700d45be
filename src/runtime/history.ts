import type { UnknownEvent } from '../errors/log-errors.ts'
import { readMembers } from '../errors/read-given.ts'
import type { LogEvent, UserMessage } from '../log/events.ts'
import { foldEvents } from '../log/fold-events.ts'
import { knownPart } from '../log/known-part.ts'
import { type ConversationState, emptyState, type TurnState } from '../log/state.ts'
import { checkWhole } from '../store/checks.ts'
import type { TenantStore } from '../store/store.ts'
import type { ViewMessage } from '../view/view.ts'
import { viewOf } from '../view/view-of.ts'

/** A page of what was said. */
export type HistoryPage = {
  /** Oldest first; whole turns. */
  readonly messages: readonly ViewMessage[]
  /** Pass it to get the page before this one; null when there is none. */
  readonly before: number | null
  /** Where the log goes on with an event that this version does not know: the page ends before it. Absent where all was read. */
  readonly unknownEvent?: UnknownEvent
}

/** A turn with what was said in it, each by its place in the log and by the key it was sent with. */
export type TurnRecord = { readonly turn: TurnState; readonly said: readonly Said[] }

type Said = { readonly seq: number; readonly key: string | null; readonly message: UserMessage }

export type TurnPage = { readonly turns: readonly TurnRecord[]; readonly before: number | null }

type PageOptions = { readonly before?: number; readonly limit?: number }

const eventsPerTurn = 16

/** The messages of the newest `limit` turns that began before a seq. */
export async function history(store: TenantStore, id: string, options?: PageOptions): Promise<HistoryPage> {
  const { folded, isInPage, before, unknownEvent } = await readPage(store, id, options)
  const messages = viewOf(id, folded.state).messages.filter(({ turnId }) => isInPage.has(turnId))
  const placed = messages.map((message) => ({ ...message, seq: folded.events[message.seq - 1]!.seq }))
  return { messages: placed, before, ...(unknownEvent ? { unknownEvent } : {}) }
}

/** The same turns as they fold; their seqs are of the page, not of the log. */
export async function historyTurns(store: TenantStore, id: string, options?: PageOptions): Promise<TurnPage> {
  const { folded, isInPage, before } = await readPage(store, id, options)
  const turns = folded.state.turns.filter(({ turnId, opened, end }) => isInPage.has(turnId) && (opened || !end))
  return { turns: turns.map((turn) => ({ turn, said: saidIn(turn, folded.events) })), before }
}

function saidIn({ items }: TurnState, events: readonly LogEvent[]): Said[] {
  return items.flatMap((item): Said[] => {
    const event = events[item.seq - 1]
    if (item.type !== 'user' || event?.type !== 'user_msg') return []
    return [{ seq: event.seq, key: event.content.key ?? null, message: item.message }]
  })
}

type ReadPage = {
  readonly folded: Folded
  readonly isInPage: ReadonlySet<string>
  readonly before: number | null
  readonly unknownEvent: UnknownEvent | null
}

async function readPage(store: TenantStore, id: string, options: PageOptions | undefined): Promise<ReadPage> {
  const { before, limit = 20 } = readMembers('page', options, ['before', 'limit'])
  if (before !== undefined) checkWhole('before', before, 0)
  checkWhole('limit', limit, 1)
  for (let read = limit * eventsPerTurn; ; read *= 4) {
    const found = await store.streamEvents(id, { ...(before === undefined ? {} : { before }), limit: read })
    const isWhole = found.length < read || found[0]?.seq === 1
    const { known: events, unknownEvent } = knownPart(found)
    const starts = turnStarts(events)
    if (!isWhole && starts.length <= limit) continue
    const page = starts.slice(-limit)
    const [first] = page
    if (!first) return { folded: { state: emptyState, events: [] }, isInPage: new Set(), before: null, unknownEvent }
    // The turn before the page tells whether the first one of it is still queued.
    const rest = before === undefined || unknownEvent ? [] : await readToEnd(store, id, events, page)
    return {
      unknownEvent,
      folded: fold([...events, ...rest], starts.slice(-limit - 1)),
      isInPage: new Set(page.map(({ turnId }) => turnId)),
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
    const { known: more, unknownEvent } = knownPart(await store.streamEvents(id, { after, before: after + 1 + read }))
    rest.push(...more)
    if (more.length === 0 || unknownEvent) break
    more.forEach(close)
    after = more.at(-1)!.seq
  }
  return rest
}

type Folded = { readonly state: ConversationState; readonly events: readonly LogEvent[] }

/** Folds only these turns, in places of their own: the nth of the events. */
function fold(events: readonly LogEvent[], turns: readonly Start[]): Folded {
  const names = new Set(turns.map(({ turnId }) => turnId))
  const from = turns[0]?.seq ?? 0
  const own: LogEvent[] = []
  for (const event of events) {
    // A mark comes before its message, which tells whose it is; one without its message changes nothing.
    if (event.seq < from || (event.type !== 'withheld' && !isAbout(event, names))) continue
    if (event.type === 'assistant_msg') names.add(event.content.messageId)
    if (event.type === 'tool_call') names.add(event.content.callId)
    own.push(event)
  }
  const state = foldEvents(
    own.map((event, index) => ({ ...event, seq: index + 1 })),
    emptyState,
  )
  return { state, events: own }
}

function isAbout({ content }: LogEvent, names: ReadonlySet<string>): boolean {
  const { turnId, callId, messageId } = content as { turnId?: string; callId?: string; messageId?: string }
  const name = turnId ?? callId ?? messageId
  return name !== undefined && names.has(name)
}
