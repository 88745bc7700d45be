import type { EventOf, LogEvent } from '../../log/events.ts'
import type { ConversationState, NoteItem } from '../../log/state.ts'
import type { EventPage } from '../../store/store.ts'
import { sizeOf } from './turn-events.ts'

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

  /** Lets go of what comes after an event that this version does not know. */
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
