import { ConversationNotFoundError, InvalidArgumentError } from '../base/errors/store-errors.ts'
import type { Json } from '../base/json.ts'
import type { LogEvent, NewEvent } from '../log/events.ts'
import { note } from '../log/validate-event.ts'
import type { TenantStore } from '../store/store.ts'
import type { StoredText } from './channel-text.ts'

/** A checkpoint. A channel that changed with it is in `values`; for all others `carried` has the seq of the record they are in. */
export type CheckpointRecord = {
  readonly type: 'checkpoint'
  readonly ns: string
  readonly id: string
  readonly parent: string | null
  /** Without its `channel_values`. */
  readonly checkpoint: StoredText
  readonly metadata: StoredText
  readonly values: { readonly [channel: string]: StoredText }
  readonly carried: { readonly [channel: string]: ValuePlace }
}

/** The checkpoint that stored a value, and the seq of its record. */
export type ValuePlace = { readonly seq: number; readonly id: string }

/** What a task wrote on top of a checkpoint. */
export type WritesRecord = {
  readonly type: 'writes'
  readonly ns: string
  readonly id: string
  readonly task: string
  readonly writes: readonly { readonly index: number; readonly channel: string; readonly value: StoredText }[]
}

export type ThreadRecord = CheckpointRecord | WritesRecord

/** A record, and the seq of its first note. */
export type Placed<R extends ThreadRecord = ThreadRecord> = { readonly seq: number; readonly record: R }

/** Agent of the conversations that are threads. Lists can be filtered by it, and no process works on them. */
const threadAgent = 'langgraph'
const idPrefix = 'langgraph/'
/** Of a part of a record in a note. A character takes at most three bytes, and a note may have 64 KiB. */
const partLength = 16_000
const mostCharacters = 64 * 1024 * 1024
const pageSize = 64
const pageBytes = 1024 * 1024

/** The log of one thread. A record is one note, or several in one commit where it is long. */
export class ThreadLog {
  readonly threadId: string
  readonly #store: TenantStore
  readonly #id: string

  constructor(store: TenantStore, threadId: string) {
    this.threadId = threadId
    this.#store = store
    this.#id = `${idPrefix}${threadId}`
  }

  /** Durable when it resolves. Returns the record's seq. */
  async append(record: ThreadRecord): Promise<number> {
    const events = notesOf(record)
    const result = await this.#commit(events).catch(async (error: unknown) => {
      if (!(error instanceof ConversationNotFoundError)) throw error
      await this.#store.putConversation(this.#id, { agent: threadAgent })
      return this.#commit(events)
    })
    return result - events.length + 1
  }

  async #commit(events: readonly NewEvent[]): Promise<number> {
    const result = await this.#store.commit(this.#id, { events })
    // A commit without expectations has nothing to conflict with.
    if (!result.ok) throw new InvalidArgumentError('thread_id', `names a log that refuses notes: ${result.conflict}`)
    return result.seq
  }

  async remove(): Promise<void> {
    await this.#store.deleteConversation(this.#id)
  }

  /** The record at `seq`, and those up to `through`, oldest first. */
  async *from(seq: number, through: number): AsyncGenerator<Placed> {
    const parts = new Parts()
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

  /** Newest first. */
  async *newestFirst(): AsyncGenerator<Placed> {
    /** Notes of a record whose first one is on an earlier page. */
    let later: LogEvent[] = []
    for (let before: number | undefined; ; ) {
      const range = { ...(before !== undefined && { before }), limit: pageSize, maxBytes: pageBytes }
      const page = await this.#store.pageEvents(this.#id, range)
      const events = [...page.events, ...later]
      const first = events.findIndex((event) => (partOf(event)?.part ?? 0) === 0)
      later = first < 0 ? events : events.slice(0, first)
      const parts = new Parts()
      const records = first < 0 ? [] : events.slice(first).flatMap((event) => parts.next(event) ?? [])
      yield* records.toReversed()
      if (!page.first || !page.hasMore) return
      before = page.first.seq
    }
  }
}

/** The threads of a tenant, newest first. */
export async function* threadsOf(store: TenantStore): AsyncGenerator<ThreadLog> {
  for (let before: string | undefined; ; ) {
    const page = await store.listConversations({
      agent: threadAgent,
      limit: 100,
      ...(before !== undefined && { before }),
    })
    for (const { id } of page) if (id.startsWith(idPrefix)) yield new ThreadLog(store, id.slice(idPrefix.length))
    before = page.at(-1)?.id
    if (before === undefined) return
  }
}

type Part = { readonly part: number; readonly of: number; readonly text: string }

function notesOf(record: ThreadRecord): NewEvent[] {
  const text = JSON.stringify(record)
  if (text.length > mostCharacters) {
    const reason = `takes ${text.length} characters as JSON; the limit is ${mostCharacters}. Keep large values outside of the graph's state`
    throw new InvalidArgumentError(`the ${record.type}`, reason)
  }
  const count = Math.max(1, Math.ceil(text.length / partLength))
  return Array.from({ length: count }, (_, part) => {
    const data = { part, of: count, text: text.slice(part * partLength, (part + 1) * partLength) } satisfies Part
    return note({ name: threadAgent, data: data as Json, who: threadAgent })
  })
}

/** Null for all other events. Any caller who may leave notes may have written this one. */
function partOf(event: LogEvent): Part | null {
  if (event.type !== 'note' || event.content.name !== threadAgent) return null
  const { part, of, text } = { ...(event.content.data as Partial<Part> | null) }
  return Number.isSafeInteger(part) && Number.isSafeInteger(of) && typeof text === 'string'
    ? { part: part!, of: of!, text }
    : null
}

/** Null for what this file did not write. */
function parsed(text: string): ThreadRecord | null {
  try {
    const record = JSON.parse(text) as Partial<ThreadRecord> | null
    const isRecord = record?.type === 'checkpoint' || record?.type === 'writes'
    return isRecord ? (record as ThreadRecord) : null
  } catch {
    return null
  }
}

/** Puts records together from their notes, in the order of the log. Other events are passed over. */
class Parts {
  #texts: string[] = []
  #seq = 0

  /** Whether a record has begun and not ended. */
  get isOpen(): boolean {
    return this.#texts.length > 0
  }

  next(event: LogEvent): Placed | null {
    const found = partOf(event)
    if (!found) return null
    if (found.part === 0) {
      this.#texts = []
      this.#seq = event.seq
    }
    if (found.part !== this.#texts.length) return null
    this.#texts.push(found.text)
    if (found.part < found.of - 1) return null
    const record = parsed(this.#texts.join(''))
    this.#texts = []
    return record && { seq: this.#seq, record }
  }
}
