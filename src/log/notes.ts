import { weightOf } from './abridge.ts'
import type { EventOf } from './events.ts'
import type { ConversationState, NoteItem } from './state.ts'

/** About how many bytes of notes a state keeps at least; at most twice that, and one note. */
const keptBytes = 256 * 1024

type Notes = Pick<ConversationState, 'notes' | 'notesLeftOut'>

/**
 * The notes of a state while it is folded. Only the newest stay, so that an application may write any number of notes without making the state grow. Which
 * ones stay depends on the log alone, however it is cut into pieces.
 */
export class GrowingNotes {
  #notes: readonly NoteItem[]
  #leftOut: number | undefined
  #weight: number
  #isOwned = false

  constructor({ notes = [], notesLeftOut }: Notes) {
    this.#notes = notes
    this.#leftOut = notesLeftOut
    this.#weight = notesWeight(notes)
  }

  add({ seq, at, content }: EventOf<'note'>): void {
    const note = { seq, at, ...content }
    if (!this.#isOwned) this.#notes = [...this.#notes]
    this.#isOwned = true
    ;(this.#notes as NoteItem[]).push(note)
    this.#weight += noteWeight(note)
    if (this.#weight <= 2 * keptBytes) return
    const { notes, notesLeftOut } = newestNotes({ notes: this.#notes }, keptBytes)
    this.#notes = notes ?? []
    this.#leftOut = notesLeftOut ?? this.#leftOut
    this.#weight = notesWeight(this.#notes)
  }

  state(): Notes {
    this.#isOwned = false
    return notesOf(this.#notes, this.#leftOut)
  }
}

/** The newest notes that fit into `maxBytes`. */
export function newestNotes({ notes = [], notesLeftOut }: Notes, maxBytes: number): Notes {
  let first = notes.length
  for (let weight = 0; first > 0; first--) {
    weight += noteWeight(notes[first - 1]!)
    if (weight > maxBytes) break
  }
  return notesOf(notes.slice(first), first === 0 ? notesLeftOut : notes[first - 1]!.seq)
}

export function notesWeight(notes: readonly NoteItem[] = []): number {
  return notes.reduce((sum, note) => sum + noteWeight(note), 0)
}

function notesOf(notes: readonly NoteItem[], leftOut: number | undefined): Notes {
  return { ...(notes.length > 0 ? { notes } : {}), ...(leftOut === undefined ? {} : { notesLeftOut: leftOut }) }
}

const weights = new WeakMap<NoteItem, number>()

/** Notes never change, so each is weighed once. */
function noteWeight(note: NoteItem): number {
  const known = weights.get(note)
  if (known !== undefined) return known
  const weight = weightOf(note)
  weights.set(note, weight)
  return weight
}
