import type { UnknownEvent } from '../../base/errors/log-errors.ts'
import type { LogEvent } from '../../log/events.ts'
import { knownPart } from '../../log/validate-event.ts'
import { pagesAfter, readBounds, yieldToEventLoop } from '../../store/log-pages.ts'
import type { EventPage, TenantStore } from '../../store/store.ts'
import { PageNotes, type Variants, WithdrawnTurns } from './history-pages.ts'
import { GatheredEvents, isMessage, sizeOf, TurnEvents } from './turn-events.ts'

export type HistoryRange = { readonly before?: number; readonly limit: number; readonly maxBytes: number }

/** The events that a page of history is made of. */
export type HistoryRead = {
  readonly events: readonly LogEvent[]
  /** The turns of the page, in the order they begin in it. */
  readonly turnIds: readonly string[]
  /** The turn before the first of them, where it was read. */
  readonly previous: string | null
  readonly before: number | null
  readonly notes: PageNotes
  readonly end: PageEnd
  /** What this version cannot read past: nothing after it is on the page. */
  readonly unknownEvent: UnknownEvent | null
  /** Of turns that are there in place of others, by the places of their first messages. */
  readonly variants: ReadonlyMap<number, Variants>
}

/**
 * Where a page ends: at the end of the log, before a turn, or within one. A page that was cut for its bytes begins with a message of the model, or with
 * one of a person that its turn went on with at once; so the message at `before` tells which it was.
 */
export type PageEnd = {
  readonly seq: number | undefined
  /** Only the part of this turn before the given message counts. */
  readonly turnId: string | null
  /** That place is a message of the model: of every turn, only the part before it counts. */
  readonly isOfModel: boolean
}

const eventsPerTurn = 16
/** Read back in small pages, because most of what a large one has would be read for nothing. */
const backBytes = 1024 * 1024

/** Reads back from `before` as far as the page goes, and on from there as far as its turns go. Holds about twice `maxBytes`. */
export async function readHistory(store: TenantStore, id: string, range: HistoryRange): Promise<HistoryRead> {
  const { before, limit, maxBytes } = range
  const end = await endAt(store, id, before)
  const { events: read, notes, isWhole, unknownEvent, withdrawn } = await readBack(store, id, range)
  const rest = await withdrawn.restOf(store, id, read)
  const back = rest.length === 0 ? read : [...read, ...rest].sort((one, other) => one.seq - other.seq)
  const variants = withdrawn.variants()
  const starts = turnStarts(back)
  const byTurns = isWhole || starts.length > limit ? (starts.slice(-limit)[0] ?? null) : null
  const byBytes = cutFor(back, maxBytes)
  const isCut = byBytes !== null && byBytes.seq > (byTurns?.seq ?? 0)
  const first = isCut ? byBytes : byTurns
  if (!first) return { events: [], turnIds: [], previous: null, before: null, notes, end, unknownEvent, variants }
  const previous = isCut ? null : (starts.findLast(({ seq }) => seq < first.seq) ?? null)
  const shown = onwards(back, previous ?? first)
  const begun = starts.filter(({ seq }) => seq >= first.seq).map(({ turnId }) => turnId)
  const page = {
    events: shown,
    // A page that begins with a message of the model contains the later part of every turn.
    turnIds: first.isOfModel ? turnsIn(shown) : begun,
    previous: previous?.turnId ?? null,
    before: isWhole && !isCut && first.seq === starts[0]?.seq ? null : first.seq,
    notes,
    end,
    unknownEvent,
    variants,
  }
  if (before === undefined || end.isOfModel || unknownEvent) return page
  return readRest(store, id, page, before, maxBytes)
}

async function endAt(store: TenantStore, id: string, before: number | undefined): Promise<PageEnd> {
  const none = { seq: before, turnId: null, isOfModel: false }
  if (before === undefined || before === 0) return none
  const [event] = await store.streamEvents(id, { after: before - 1, limit: 1, keep: 'oldest' })
  if (!event || !isMessage(event)) return none
  return { seq: before, turnId: event.content.turnId, isOfModel: event.type === 'assistant_msg' }
}

type Back = {
  readonly events: LogEvent[]
  readonly notes: PageNotes
  readonly isWhole: boolean
  readonly unknownEvent: UnknownEvent | null
  readonly withdrawn: WithdrawnTurns
}

/** Enough events for that many turns or bytes, without withdrawn turns. `isWhole`: they reach back to the beginning. */
async function readBack(store: TenantStore, id: string, { before, limit, maxBytes }: HistoryRange): Promise<Back> {
  const gathered = new GatheredEvents(maxBytes)
  const notes = new PageNotes(maxBytes)
  const withdrawn = new WithdrawnTurns()
  let unknownEvent: UnknownEvent | null = null
  let cursor = before
  for (let count = limit * eventsPerTurn; ; count *= 4) {
    const bounds = { limit: Math.min(count, readBounds.limit), maxBytes: backBytes }
    const page = await store.pageEvents(id, { ...bounds, ...(cursor === undefined ? {} : { before: cursor }) })
    const unknown = gathered.addBefore(withdrawn.outside(notes.takeFrom(page)))
    if (unknown) notes.endAt(unknown.seq)
    unknownEvent = unknown ?? unknownEvent
    const { events, isFull } = gathered
    const isWhole = !page.hasMore || !page.first
    const isEnough = (isFull && events.some(mayBegin)) || turnStarts(events).length > limit
    if (isWhole || (isEnough && withdrawn.isClosed(page.first!.seq)))
      return { events, notes, isWhole, unknownEvent, withdrawn }
    cursor = page.first?.seq
    await yieldToEventLoop()
  }
}

type First = { readonly seq: number; readonly isOfModel: boolean }

/** The event before a message of the model may be its mark, so it must have been read. */
function mayBegin(event: LogEvent, index: number): boolean {
  return event.type === 'user_msg' || (event.type === 'assistant_msg' && (index > 0 || event.seq === 1))
}

/** From there on, with the mark of that message where it is withheld. */
function onwards(events: readonly LogEvent[], { seq: first }: Pick<First, 'seq'>): LogEvent[] {
  return events.filter(({ seq, type }) => seq >= first || (seq === first - 1 && type === 'withheld'))
}

/**
 * Where a page has to begin to have no more bytes; null when all of it fits. Before a turn where one fits, else before a message that a
 * page can begin with, else before any.
 */
function cutFor(events: readonly LogEvent[], maxBytes: number): First | null {
  let weight = 0
  let atTurn: First | null = null
  let within: First | null = null
  let anywhere: First | null = null
  for (let index = events.length - 1; index >= 0; index--) {
    const event = events[index]!
    weight += sizeOf(event)
    if (weight > maxBytes && anywhere) return atTurn ?? within ?? anywhere
    if (!isMessage(event) || !mayBegin(event, index)) continue
    const place = { seq: event.seq, isOfModel: event.type === 'assistant_msg' }
    anywhere ??= place
    if (!place.isOfModel && !isTakenUp(events, index)) continue
    within = place
    if (events[index - 1]?.type === 'turn_ended') atTurn = place
  }
  return weight > maxBytes ? (atTurn ?? within ?? anywhere) : null
}

/** Whether the turn of that message continues next: then no other turn was open at that message. */
function isTakenUp(events: readonly LogEvent[], index: number): boolean {
  const { turnId } = (events[index] as Extract<LogEvent, { type: 'user_msg' }>).content
  let next = index + 1
  while (events[next]?.type === 'user_msg' || events[next]?.type === 'titled') next += 1
  return (events[next]?.content as { readonly turnId?: string } | undefined)?.turnId === turnId
}

/** A queued turn ends after later ones have begun: the rest of the page's turns is read from there. */
async function readRest(
  store: TenantStore,
  id: string,
  page: HistoryRead,
  before: number,
  maxBytes: number,
): Promise<HistoryRead> {
  const rest = new RestOfTurns(page, before, maxBytes)
  for await (const read of pagesAfter(store, id, { after: before - 1 })) {
    if (!rest.add(read)) break
  }
  const events = rest.events
  const cut = cutFor(events, maxBytes) ?? rest.cut
  if (!cut) return { ...page, events }
  const shown = onwards(events, cut)
  return { ...page, events: shown, turnIds: turnsIn(shown), previous: null, before: cut.seq }
}

/** Gathers the remaining events of a page's turns, from `before` on. */
class RestOfTurns {
  readonly #about: TurnEvents
  readonly #open: Set<string>
  readonly #gathered: GatheredEvents
  readonly #page: Pick<HistoryRead, 'end' | 'previous'>
  readonly #before: number
  readonly #maxBytes: number
  #cut: First | null = null

  constructor(page: HistoryRead, before: number, maxBytes: number) {
    this.#about = new TurnEvents(page.turnIds)
    this.#open = new Set(page.turnIds)
    this.#gathered = new GatheredEvents(maxBytes)
    this.#page = page
    this.#before = before
    this.#maxBytes = maxBytes
    for (const event of page.events) {
      this.#isMeant(event)
      this.#gathered.push(event)
    }
  }

  get events(): LogEvent[] {
    return this.#gathered.events
  }

  /** Where the page must begin, given the events that were left out of it. */
  get cut(): First | null {
    return this.#cut
  }

  /** False when nothing more is needed, or can be read. */
  add(page: EventPage): boolean {
    const { known, unknownEvent } = knownPart([...page.events])
    for (const event of known) {
      if (this.#open.size === 0) return false
      if (this.#isMeant(event)) this.#gathered.push(event)
    }
    this.#cut = cutFor(this.events, this.#maxBytes) ?? this.#cut
    if (this.#cut) this.#gathered.keepOnly(onwards(this.events, this.#cut))
    return this.#open.size > 0 && unknownEvent === null
  }

  #isMeant(event: LogEvent): boolean {
    const { end, previous } = this.#page
    // The turn before the page must have ended before the next one opens.
    if (event.type === 'turn_ended' && event.content.turnId === previous) return true
    if (!this.#about.has(event)) return false
    if (event.type === 'turn_ended') this.#open.delete(event.content.turnId)
    const isPastEnd = event.seq >= this.#before && isMessage(event) && event.content.turnId === end.turnId
    // Its calls have ended before the next message of the model.
    if (isPastEnd && event.type === 'assistant_msg') this.#open.delete(event.content.turnId)
    return !isPastEnd
  }
}

type Start = { readonly turnId: string; readonly seq: number; readonly isOfModel: false }

/** Of each turn, its first message. */
function turnStarts(events: readonly LogEvent[]): Start[] {
  const seen = new Set<string>()
  return events.flatMap((event) => {
    if (event.type !== 'user_msg' || seen.has(event.content.turnId)) return []
    seen.add(event.content.turnId)
    return [{ turnId: event.content.turnId, seq: event.seq, isOfModel: false }]
  })
}

function turnsIn(events: readonly LogEvent[]): string[] {
  return [...new Set(events.filter(isMessage).map(({ content }) => content.turnId))]
}
