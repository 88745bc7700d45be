import type { UnknownEvent } from '../../base/errors/log-errors.ts'
import type { EventOf, LogEvent } from '../../log/events.ts'
import type { ConversationState, NoteItem } from '../../log/state.ts'
import { knownPart } from '../../log/validate-event.ts'
import { pagesAfter } from '../../store/log-pages.ts'
import type { EventPage, TenantStore } from '../../store/store.ts'
import { sizeOf, TurnEvents } from './turn-events.ts'

/** How many variants there are of the turn whose first message is there, and where the one before it ends. */
export type Variants = { readonly variants: number; readonly previousSeq: number }

/** The turns that began from `from` on and before `to` are withdrawn. */
type Hole = { readonly from: number; readonly to: number; variants: number }

/**
 * Leaves withdrawn turns out of pages that are read back from the end of a log: the mark of a withdrawal comes after what it withdraws. A turn that began before
 * may have gone on among them; `restOf` reads that.
 */
export class WithdrawnTurns {
  #holes: Hole[] = []

  /** The page without the events that fall into a hole. Must be called with the pages of a log in order, the newest first. */
  outside(page: EventPage): EventPage {
    const { known, unknownEvent } = knownPart([...page.events])
    // What comes after an event that this version does not know is not understood.
    if (unknownEvent) this.#holes = []
    const shown: LogEvent[] = []
    for (const event of known.toReversed()) {
      const hole = this.#holes.at(-1)
      const isInside = hole !== undefined && event.seq >= hole.from && event.seq < hole.to
      if (event.type === 'superseded') this.#mark(event.seq, event.content.fromSeq, isInside ? hole : null)
      else if (!isInside) shown.push(event)
    }
    return { ...page, events: [...shown.reverse(), ...restFrom(page, unknownEvent)] }
  }

  #mark(seq: number, fromSeq: number, inside: Hole | null): void {
    if (!inside) this.#holes.push({ from: fromSeq, to: seq, variants: 2 })
    else if (inside.from === fromSeq) inside.variants += 1
  }

  /** By the place of the first message of the turn that is there instead. */
  variants(): ReadonlyMap<number, Variants> {
    return new Map(this.#holes.map(({ to, variants }) => [to + 1, { variants, previousSeq: to - 1 }]))
  }

  /** Whether a hole was read to its beginning, or there is none at the end of what was read. */
  isClosed(firstSeq: number): boolean {
    const hole = this.#holes.at(-1)
    return !hole || firstSeq <= hole.from
  }

  /** What is in the holes of turns that began before them: a turn is withdrawn whole, or not at all. */
  async restOf(store: TenantStore, id: string, events: readonly LogEvent[]): Promise<LogEvent[]> {
    const rest: LogEvent[] = []
    for (const { from, to } of this.#holes) {
      const open = openBefore(events, from)
      if (open.length === 0) continue
      const about = new TurnEvents(open)
      for (const event of events) if (event.seq < from) about.has(event)
      for await (const page of pagesAfter(store, id, { after: from - 1, before: to })) {
        for (const event of page.events) if (about.has(event)) rest.push(event)
      }
    }
    return rest
  }
}

/** The turns that began before that seq and had not ended by then. */
function openBefore(events: readonly LogEvent[], seq: number): string[] {
  const open = new Set<string>()
  for (const event of events) {
    if (event.seq >= seq) break
    if (event.type === 'user_msg') open.add(event.content.turnId)
    if (event.type === 'turn_ended') open.delete(event.content.turnId)
  }
  return [...open]
}

/** An event that is not known stays where it is, for the reader to find. */
function restFrom(page: EventPage, unknownEvent: UnknownEvent | null): LogEvent[] {
  return unknownEvent ? [...page.events].filter(({ seq }) => seq >= unknownEvent.seq) : []
}

/**
 * The notes of a page of history. They are gathered apart from its turns, because any number of them may follow one message: the newest stay, in a quarter of
 * the page's bytes.
 */
export class PageNotes {
  readonly #maxBytes: number
  #notes: NoteItem[] = []
  #bytes = 0
  /** The newest that was left out; 0: none was. */
  #leftOut = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes / 4
  }

  /** Takes the notes out of a page. The pages of a log must come in turn, the newest first. */
  takeFrom(page: EventPage): EventPage {
    const notes: EventOf<'note'>[] = []
    const others: LogEvent[] = []
    for (const event of page.events) {
      if (event.type === 'note') notes.push(event)
      else others.push(event)
    }
    const kept: NoteItem[] = []
    for (const event of notes.reverse()) {
      this.#bytes += sizeOf(event)
      if (this.#bytes > this.#maxBytes) this.#leftOut ||= event.seq
      else kept.push({ seq: event.seq, at: event.at, ...event.content })
    }
    this.#notes = [...kept.reverse(), ...this.#notes]
    return { ...page, events: others }
  }

  /** Drops the events after one that this version does not know. */
  endAt(seq: number): void {
    this.#notes = this.#notes.filter((note) => note.seq < seq)
    if (this.#leftOut >= seq) this.#leftOut = 0
  }

  /** Those of a page that begins at `first`. */
  since(first: number): Required<Pick<ConversationState, 'notes'>> & Pick<ConversationState, 'notesLeftOut'> {
    const notes = this.#notes.filter(({ seq }) => seq >= first)
    return { notes, ...(this.#leftOut > 0 && this.#leftOut >= first ? { notesLeftOut: this.#leftOut } : {}) }
  }
}
