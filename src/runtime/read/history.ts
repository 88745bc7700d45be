import type { UnknownEvent } from '../../base/errors/log-errors.ts'
import { readOptions } from '../../base/errors/read-options.ts'
import type { Json } from '../../base/json.ts'
import { abridgeEvent, weightOf } from '../../log/abridge.ts'
import type { LogEvent, UserMessage } from '../../log/events.ts'
import { foldEvents } from '../../log/fold-events.ts'
import type { ConversationState, NoteItem, TurnState } from '../../log/state.ts'
import { checkWhole } from '../../store/checks.ts'
import type { TenantStore } from '../../store/store.ts'
import type { ViewMessage } from '../../view/view.ts'
import { viewOf } from '../../view/view-of.ts'
import type { PageNotes, Variants } from './history-pages.ts'
import { type PageEnd, readHistory } from './read-history.ts'
import { isMessage, TurnEvents } from './turn-events.ts'

/** A page of what was said. */
export type HistoryPage = {
  /** Oldest first; whole turns, or where those are too long, the newest messages of one. */
  readonly messages: readonly ViewMessage[]
  /** The application's notes from the first message of the page up to `before` of the page after it, oldest first; on the first page, from the beginning. */
  readonly notes: readonly NoteItem[]
  /** Set when older notes of the page were left out for their size: the `seq` of the newest of them. `events` has them all. */
  readonly notesLeftOut?: number
  /** Pass it to get the page before this one; null when there is none. */
  readonly before: number | null
  /** An event that this version does not know: the page ends before it. Absent if everything was read. */
  readonly unknownEvent?: UnknownEvent
}

/** Which page, and how much of it. */
export type HistoryOptions = {
  /** What the page after this one said. Default: the newest. */
  readonly before?: number
  /** How many turns. Default: 20. */
  readonly limit?: number
  /** About how many bytes. Of a single message that is larger only the beginnings of its parts and calls are shown: see `leftOut`. Default: 4 MiB. */
  readonly maxBytes?: number
}

/** A turn with its messages, each with its place in the log and the key it was sent with. */
export type TurnRecord = {
  readonly turn: TurnState
  readonly said: readonly Said[]
  /** Where it was cut: its messages from here on are on the page after this one. Null: nothing is missing at its end. */
  readonly cutAt: number | null
  /** Set when the turn is there in place of others. */
  readonly replaced?: Variants
}

type Said = {
  readonly seq: number
  readonly key: string | null
  readonly message: UserMessage
  /** Null: none. */
  readonly data: Json
}

export type TurnPage = { readonly turns: readonly TurnRecord[]; readonly before: number | null }

export const pageBytes = 4 * 1024 * 1024

/** The messages of the newest `limit` turns that began before a seq. */
export async function history(store: TenantStore, id: string, options?: HistoryOptions): Promise<HistoryPage> {
  const { state, seqs, isInPage, before, notes, unknownEvent, variants } = await readPage(store, id, options)
  const messages = viewOf(id, state).messages.flatMap((message): ViewMessage[] => {
    const seq = seqs[message.seq - 1] ?? 0
    return seq > 0 && isInPage.has(message.turnId) ? [{ ...message, seq, ...variants.get(seq) }] : []
  })
  return { messages, ...notes.since(before ?? 0), before, ...(unknownEvent ? { unknownEvent } : {}) }
}

/** The same turns as they fold; their seqs are of the page, not of the log. */
export async function historyTurns(store: TenantStore, id: string, options?: HistoryOptions): Promise<TurnPage> {
  const { state, seqs, keys, isInPage, before, end, variants } = await readPage(store, id, options)
  const turns = state.turns.filter(({ turnId, opened, end: ended }) => isInPage.has(turnId) && (opened || !ended))
  return {
    turns: turns.map((turn) => {
      const items = turn.items.filter(({ seq }) => seqs[seq - 1] !== 0)
      const said = items.flatMap((item): Said[] => {
        if (item.type !== 'user') return []
        const seq = seqs[item.seq - 1]!
        return [{ seq, key: keys.get(seq) ?? null, message: item.message, data: item.data ?? null }]
      })
      const isCut = end.turnId === turn.turnId || (end.isOfModel && !turn.end)
      const replaced = variants.get(said[0]?.seq ?? 0)
      return { turn: { ...turn, items }, said, cutAt: isCut ? (end.seq ?? null) : null, ...(replaced && { replaced }) }
    }),
    before,
  }
}

type ReadPage = {
  readonly state: ConversationState
  /** The place in the log of each event of the page; 0 for what stands for the beginning of a turn that is not in it. */
  readonly seqs: readonly number[]
  readonly keys: ReadonlyMap<number, string>
  readonly isInPage: ReadonlySet<string>
  readonly before: number | null
  readonly notes: PageNotes
  readonly end: PageEnd
  readonly unknownEvent: UnknownEvent | null
  readonly variants: ReadonlyMap<number, Variants>
}

async function readPage(store: TenantStore, id: string, options: HistoryOptions | undefined): Promise<ReadPage> {
  const {
    before: asked,
    limit = 20,
    maxBytes = pageBytes,
  } = readOptions('page', options, ['before', 'limit', 'maxBytes'])
  if (asked !== undefined) checkWhole('before', asked, 0)
  checkWhole('limit', limit, 1)
  checkWhole('maxBytes', maxBytes, 1)
  const read = await readHistory(store, id, { ...(asked === undefined ? {} : { before: asked }), limit, maxBytes })
  const { events, turnIds, previous, before, notes, end, unknownEvent, variants } = read
  // The turn before the page tells whether the first one of it is still queued.
  const own = ownEvents(events, previous === null ? turnIds : [previous, ...turnIds])
  const shown = within(own, maxBytes)
  const keys = new Map<number, string>()
  for (const event of own) {
    if (event.type === 'user_msg' && event.content.key !== undefined) keys.set(event.seq, event.content.key)
  }
  return {
    state: foldEvents(shown.map((event, index) => ({ ...event, seq: index + 1 }))),
    seqs: shown.map(({ seq }) => seq),
    keys,
    isInPage: new Set(turnIds),
    before,
    notes,
    end,
    unknownEvent,
    variants,
  }
}

/** The events of these turns. A turn that began before them is given a beginning: the fold needs one. */
function ownEvents(events: readonly LogEvent[], turnIds: readonly string[]): LogEvent[] {
  const about = new TurnEvents(turnIds)
  const begun = new Set<string>()
  const own: LogEvent[] = []
  for (const event of events) {
    if (!about.has(event)) continue
    const { turnId } = event.content as { readonly turnId?: string }
    if (turnId !== undefined && !begun.has(turnId)) {
      begun.add(turnId)
      if (event.type !== 'user_msg') own.push(beginningOf(turnId, event))
    }
    own.push(event)
  }
  return own
}

function beginningOf(turnId: string, { conversationId, at }: LogEvent): LogEvent {
  const content = { turnId, message: { parts: [] }, options: {}, who: '' }
  return { conversationId, seq: 0, at, type: 'user_msg', content }
}

/** For a message larger than the page: shortens long values to their beginnings, the oldest first and the message itself last. */
function within(events: readonly LogEvent[], maxBytes: number): readonly LogEvent[] {
  let weight = events.reduce((sum, event) => sum + weightOf(event.content), 0)
  if (weight <= maxBytes) return events
  const shortened = [...events]
  for (const isSpared of [isMessage, () => false]) {
    for (let index = 0; index < shortened.length && weight > maxBytes; index++) {
      const event = shortened[index]!
      if (isSpared(event)) continue
      shortened[index] = abridgeEvent(event)
      weight += weightOf(shortened[index]!.content) - weightOf(event.content)
    }
  }
  return shortened
}
