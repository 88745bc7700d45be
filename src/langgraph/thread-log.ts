import { type AppendResult, type PlacedRecord, RecordLog } from '../store/record-log.ts'
import type { EventPlace, TenantStore } from '../store/store.ts'
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
export type Placed<R extends ThreadRecord = ThreadRecord> = Pick<PlacedRecord<R>, 'seq' | 'record'>

/** Agent of the conversations that are threads. Lists can be filtered by it, and no process works on them. */
const threadAgent = 'langgraph'
const idPrefix = 'langgraph/'

/** The log of one thread. */
export class ThreadLog {
  readonly threadId: string
  readonly #store: TenantStore
  readonly #id: string
  readonly #records: RecordLog<ThreadRecord>

  constructor(store: TenantStore, threadId: string) {
    this.threadId = threadId
    this.#store = store
    this.#id = `${idPrefix}${threadId}`
    this.#records = new RecordLog({ store, id: this.#id, name: threadAgent, read: readRecord })
  }

  /** Durable when it resolves with `ok`. `after`: where the log must end for the record to be right; null: anywhere. */
  append(record: ThreadRecord, after: EventPlace | null): Promise<AppendResult> {
    return this.#records.append(record, after ? { after } : {})
  }

  async remove(): Promise<void> {
    await this.#store.deleteConversation(this.#id)
  }

  /** The record at `seq`, and those up to `through`, oldest first. */
  from(seq: number, through: number): AsyncGenerator<Placed> {
    return this.#records.from(seq, through)
  }

  newestFirst(onEnd: (end: EventPlace | null) => void): AsyncGenerator<Placed> {
    return this.#records.newestFirst(undefined, onEnd)
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

function readRecord(json: unknown): ThreadRecord | null {
  const { type } = Object(json) as Partial<ThreadRecord>
  return type === 'checkpoint' || type === 'writes' ? (json as ThreadRecord) : null
}
