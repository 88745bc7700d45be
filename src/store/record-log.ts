import { ConversationNotFoundError, InvalidArgumentError } from '../base/errors/store-errors.ts'
import type { Json } from '../base/json.ts'
import type { LogEvent, NewEvent } from '../log/events.ts'
import { note } from '../log/validate-event.ts'
import type { Change } from './change.ts'
import type { EventPlace, TenantStore } from './store.ts'

/** A record, the seq of its first note, and its length as text. */
export type PlacedRecord<R> = { readonly seq: number; readonly record: R; readonly characters: number }

export type RecordLogOptions<R> = {
  readonly store: TenantStore
  /** Of the conversation that is the log. */
  readonly id: string
  /** Of the notes, and of the agent of the conversation. Lists can be filtered by it, and no process works on them. */
  readonly name: string
  /** Null for what the caller did not write: any caller who may leave notes may have. */
  readonly read: (json: unknown) => R | null
}

/** Of a part of a record in a note. A character takes at most three bytes, and a note may have 64 KiB. */
const partLength = 16_000
export const mostCharacters = 64 * 1024 * 1024
const pageSize = 64
const pageBytes = 1024 * 1024

/** `seq`: of the record's first note. `end`: of the log after it; null where the store does not report the time. */
export type AppendResult =
  | { readonly ok: true; readonly seq: number; readonly end: EventPlace | null }
  | { readonly ok: false; readonly conflict: string }

/** Of each note. No user has this id, so that people who may leave notes cannot forge a record. */
const writer = 'system'

/** A log of records that do not belong to a turn. A record is one note, or several in one commit if it is long. */
export class RecordLog<R extends object> {
  readonly #store: TenantStore
  readonly #id: string
  readonly #name: string
  readonly #read: (json: unknown) => R | null

  constructor({ store, id, name, read }: RecordLogOptions<R>) {
    this.#store = store
    this.#id = id
    this.#name = name
    this.#read = read
  }

  /**
   * Durable when it resolves with `ok`. Creates the conversation. `after`: where the log must end, or null where it must be empty; a log that was deleted and
   * begun again is another one. Default: anywhere.
   */
  async append(
    record: R,
    { after, ...once }: Pick<Change, 'key' | 'digest'> & { readonly after?: EventPlace | null } = {},
  ): Promise<AppendResult> {
    const events = this.#notesOf(record)
    const expected = after === undefined ? {} : expectedEnd(after)
    const commit = () => this.#store.commit(this.#id, { events, ...once, ...expected })
    const result = await commit().catch(async (error: unknown) => {
      if (!(error instanceof ConversationNotFoundError)) throw error
      await this.#store.putConversation(this.#id, { agent: this.#name })
      return commit()
    })
    if (!result.ok) return { ok: false, conflict: result.conflict }
    const { seq, at } = result
    return { ok: true, seq: seq - events.length + 1, end: at === undefined ? null : { seq, at } }
  }

  /** Whether the record with this key was appended. Writes nothing: keys come first, and the log must not be empty. */
  async wasApplied(request: Pick<Change, 'key' | 'digest'>): Promise<boolean> {
    return (await this.#store.commit(this.#id, { events: [], ...request, expectedSeq: 0 })).ok
  }

  /** Null for a log that does not exist. */
  async end(): Promise<EventPlace | null> {
    return (await this.#store.pageEvents(this.#id, { limit: 1 })).last
  }

  /** The record at `seq`, and those up to `through`, oldest first. */
  async *from(seq: number, through: number): AsyncGenerator<PlacedRecord<R>> {
    const parts = this.#parts()
    for (let after = seq - 1; after < through; ) {
      const range = { after, before: through + 1, limit: pageSize, maxBytes: pageBytes, keep: 'oldest' as const }
      const page = await this.#store.pageEvents(this.#id, range)
      for (const event of page.events) {
        const placed = parts.next(event)
        if (placed) yield placed
      }
      if (!page.last || !page.hasMore) break
      after = page.last.seq
    }
    // The last one may continue after `through`.
    for (let at = through + 1; parts.isOpen; at++) {
      const [event] = await this.#store.streamEvents(this.#id, { after: at - 1, before: at + 1 })
      if (!event) return
      const placed = parts.next(event)
      if (placed) yield placed
    }
  }

  /**
   * Newest first, without those that begin after `through`. Default: all. `through` must not be within a record. `onEnd` is told first where the log, or what is
   * read of it, ends.
   */
  async *newestFirst(through?: number, onEnd?: (end: EventPlace | null) => void): AsyncGenerator<PlacedRecord<R>> {
    /** Notes of a record whose first one is on an earlier page. */
    let later: LogEvent[] = []
    for (let before = through === undefined ? undefined : through + 1, isFirst = true; ; isFirst = false) {
      const range = { ...(before !== undefined && { before }), limit: pageSize, maxBytes: pageBytes }
      const page = await this.#store.pageEvents(this.#id, range)
      if (isFirst) onEnd?.(page.last)
      const events = [...page.events, ...later]
      const first = events.findIndex((event) => (partOf(event, this.#name)?.part ?? 0) === 0)
      later = first < 0 ? events : events.slice(0, first)
      const parts = this.#parts()
      const records = first < 0 ? [] : events.slice(first).flatMap((event) => parts.next(event) ?? [])
      yield* records.toReversed()
      if (!page.first || !page.hasMore) return
      before = page.first.seq
    }
  }

  #parts(): Parts<R> {
    return new Parts(this.#name, this.#read)
  }

  #notesOf(record: R): NewEvent[] {
    const text = JSON.stringify(record)
    if (text.length > mostCharacters) {
      const reason = `takes ${text.length} characters as JSON; the limit is ${mostCharacters}. Keep large values somewhere else`
      throw new InvalidArgumentError(`the record for '${this.#id}'`, reason)
    }
    const count = Math.max(1, Math.ceil(text.length / partLength))
    return Array.from({ length: count }, (_, part) => {
      const data = { part, of: count, text: text.slice(part * partLength, (part + 1) * partLength) } satisfies Part
      return note({ name: this.#name, data: data as Json, who: writer })
    })
  }
}

function expectedEnd(end: EventPlace | null): Pick<Change, 'expectedSeq' | 'expectedAt'> {
  return end ? { expectedSeq: end.seq, expectedAt: end.at } : { expectedSeq: 0 }
}

type Part = { readonly part: number; readonly of: number; readonly text: string }

/** Null for all other events. */
function partOf(event: LogEvent, name: string): Part | null {
  if (event.type !== 'note' || event.content.name !== name || event.content.who !== writer) return null
  const { part, of, text } = { ...(event.content.data as Partial<Part> | null) }
  return Number.isSafeInteger(part) && Number.isSafeInteger(of) && typeof text === 'string'
    ? { part: part!, of: of!, text }
    : null
}

/** Puts records together from their notes, in the order of the log. Other events are passed over. */
class Parts<R> {
  readonly #name: string
  readonly #read: (json: unknown) => R | null
  #texts: string[] = []
  #seq = 0

  constructor(name: string, read: (json: unknown) => R | null) {
    this.#name = name
    this.#read = read
  }

  /** Whether a record has begun and not ended. */
  get isOpen(): boolean {
    return this.#texts.length > 0
  }

  next(event: LogEvent): PlacedRecord<R> | null {
    const found = partOf(event, this.#name)
    if (!found) return null
    if (found.part === 0) {
      this.#texts = []
      this.#seq = event.seq
    }
    if (found.part !== this.#texts.length) return null
    this.#texts.push(found.text)
    if (found.part < found.of - 1) return null
    const text = this.#texts.join('')
    this.#texts = []
    const record = this.#recordIn(text)
    return record && { seq: this.#seq, record, characters: text.length }
  }

  #recordIn(text: string): R | null {
    try {
      return this.#read(JSON.parse(text))
    } catch {
      return null
    }
  }
}
