import type { UnknownEvent } from '../../base/errors/log-errors.ts'
import { abridgeEvent, weightOf } from '../../log/abridge.ts'
import type { LogEvent } from '../../log/events.ts'
import { type ConversationState, emptyState } from '../../log/state.ts'
import { foldWithin } from '../../log/trim-state.ts'
import { knownPart } from '../../log/validate-event.ts'
import { pagesAfter } from '../../store/log-pages.ts'
import type { EventPage, EventRange, TenantStore } from '../../store/store.ts'
import { hideWithheld } from '../../view/hidden.ts'

/** Tells which events of a log are about some turns, given all of them in their order. */
export class TurnEvents {
  readonly #names: Set<string>

  constructor(turnIds: Iterable<string>) {
    this.#names = new Set(turnIds)
  }

  has(event: LogEvent): boolean {
    // A mark comes before its message, which tells whose it is; one without its message changes nothing.
    if (event.type === 'withheld') return true
    if (!this.#names.has(nameOf(event))) return false
    if (event.type === 'assistant_msg') this.#names.add(event.content.messageId)
    if (event.type === 'tool_call') this.#names.add(event.content.callId)
    return true
  }
}

/** What an event is about: its turn, else its call, else its message. */
function nameOf({ content }: LogEvent): string {
  const { turnId, callId, messageId } = content as { turnId?: string; callId?: string; messageId?: string }
  return turnId ?? callId ?? messageId ?? ''
}

/** A message of a person or of a model, as an event. */
export type MessageEvent = Extract<LogEvent, { type: 'user_msg' | 'assistant_msg' }>

export function isMessage(event: LogEvent): event is MessageEvent {
  return event.type === 'user_msg' || event.type === 'assistant_msg'
}

/** In places of their own, the first at `from`: what a fold takes. */
function* renumbered(events: Iterable<LogEvent>, from: number): Generator<LogEvent> {
  let seq = from
  for (const event of events) {
    yield { ...event, seq }
    seq += 1
  }
}

/** The size of an event, including its omitted parts. */
export function sizeOf({ content }: LogEvent): number {
  return weightOf(content) + ((content as { readonly leftOut?: number }).leftOut ?? 0)
}

/**
 * Events that are read for a page of about so many bytes. The newest that fit are whole; of the others it has the beginnings. Events are decoded in calls that do not
 * wait, so that no reader holds those of a whole page while it waits for the next: a page may take twenty times its bytes when it is decoded.
 */
export class GatheredEvents {
  readonly #maxBytes: number
  #events: LogEvent[] = []
  #sizes = 0
  #held = 0
  /** How many of the first have only their beginnings. */
  #abridged = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get events(): LogEvent[] {
    return this.#events
  }

  /** There is more than fits, whole. */
  get isFull(): boolean {
    return this.#sizes > this.#maxBytes
  }

  /** Adds earlier events. If one of them is unknown, the events after it cannot be interpreted and are dropped. */
  addBefore(page: EventPage): UnknownEvent | null {
    const { known, unknownEvent } = knownPart([...page.events])
    if (unknownEvent) this.keepOnly([])
    const added = known.toReversed().map((event) => {
      const size = sizeOf(event)
      this.#sizes += size
      const kept = this.#sizes > this.#maxBytes ? abridgeEvent(event) : event
      this.#held += kept === event ? size : weightOf(kept.content)
      if (kept !== event) this.#abridged += 1
      return kept
    })
    this.#events = [...added.reverse(), ...this.#events]
    return unknownEvent
  }

  /** Adds one that comes after the others. The oldest make room for it. */
  push(event: LogEvent): void {
    this.#events.push(event)
    const size = sizeOf(event)
    this.#sizes += size
    this.#held += weightOf(event.content)
    for (; this.#held > this.#maxBytes && this.#abridged < this.#events.length - 1; this.#abridged += 1) {
      const oldest = this.#events[this.#abridged]!
      const abridged = abridgeEvent(oldest)
      this.#events[this.#abridged] = abridged
      this.#held += weightOf(abridged.content) - weightOf(oldest.content)
    }
  }

  keepOnly(events: readonly LogEvent[]): void {
    this.#abridged = Math.max(0, this.#abridged - (this.#events.length - events.length))
    this.#events = [...events]
    this.#sizes = events.reduce((sum, event) => sum + sizeOf(event), 0)
    this.#held = events.reduce((sum, { content }) => sum + weightOf(content), 0)
  }
}

/** Enough for the last message of a turn, whatever came before it. */
const keptBytes = 4 * 1024 * 1024

/**
 * A state that has one turn of the log, as far as it tells how the turn ended. For turns that no working set has any more: a summary stands for them, or they
 * were left out. Reads the whole log, and holds little of it.
 */
export async function turnFromLog(store: TenantStore, id: string, turnId: string): Promise<ConversationState> {
  const own = new TurnEvents([turnId])
  let state = emptyState
  for await (const { events } of pagesAfter(store, id)) {
    const found = renumbered(ownOf(events, own), state.lastSeq + 1)
    state = foldWithin(found, state, 2 * keptBytes, keptBytes)
  }
  return state
}

function* ownOf(events: Iterable<LogEvent>, own: TurnEvents): Generator<LogEvent> {
  for (const event of events) if (own.has(event)) yield event
}

type Read = (range: EventRange) => Promise<readonly LogEvent[]>

/** Pages of a log as every reader but an operator gets them: messages that no hook has passed are empty. */
export async function* shownPages(
  store: Pick<TenantStore, 'streamEvents'>,
  id: string,
  pages: AsyncIterable<EventPage>,
): AsyncGenerator<EventPage, void, void> {
  for await (const page of pages) {
    const before = await eventBefore((range) => store.streamEvents(id, range), startOf(page))
    yield { ...page, events: { [Symbol.iterator]: () => hideWithheld(page.events, before) } }
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
