import type { RunnableConfig } from '@langchain/core/runnables'
import {
  BaseCheckpointSaver,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointPendingWrite,
  type CheckpointTuple,
  type DeltaChannelHistory,
  getCheckpointId,
  maxChannelVersion,
  type PendingWrite,
  type SerializerProtocol,
  TASKS,
  WRITES_IDX_MAP,
} from '@langchain/langgraph-checkpoint'
import { InvalidArgumentError } from '../base/errors/store-errors.ts'
import { isSameJson, type Json } from '../base/json.ts'
import type { TenantStore } from '../store/store.ts'
import { bytesOf, type SerialisedText, serialisedText } from './channel-text.ts'
import { ChannelValues, type PlacedCheckpoint } from './channel-values.ts'
import { type Placed, ThreadLog, type ThreadRecord, threadsOf, type WritesRecord } from './thread-log.ts'

/** Options of `PerdureSaver`. */
export type PerdureSaverOptions = {
  /** Where threads are kept: a store, or what its `forTenant` returns. It is not closed by the saver. */
  readonly store: TenantStore
  /** Default: LangGraph's own. */
  readonly serde?: SerializerProtocol
}

/** What LangGraph's serialiser writes in place of a value that it cannot. */
const givenUp = '"[unable to serialize, circular reference is too complex to analyze]"'

/** A checkpoint and the writes on top of it, as they are in the log. */
type Found = { readonly placed: PlacedCheckpoint; readonly writes: readonly WritesRecord[] }

/**
 * A checkpoint saver of LangGraph over any Perdure store. A thread is a log: `put` and `putWrites` each append one commit, which is on disk when they resolve.
 * A checkpoint holds only the channels that changed, and of a list that grew only what was added, so a thread takes room in proportion to its messages.
 */
export class PerdureSaver extends BaseCheckpointSaver {
  readonly #store: TenantStore
  readonly #values = new ChannelValues()
  /** Ends of the appends under way, by thread: LangGraph does not wait for `put` before it calls `putWrites`. */
  readonly #appends = new Map<string, Promise<unknown>>()

  constructor({ store, serde }: PerdureSaverOptions) {
    super(serde)
    this.#store = store
  }

  override async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    // LangGraph asks so for graphs that are run without a thread.
    if (config.configurable?.['thread_id'] === undefined) return undefined
    const { thread, ns } = this.#placeOf(config)
    const id = getCheckpointId(config) || null
    await this.#appends.get(thread.threadId)
    for await (const found of this.#checkpoints(thread)) {
      const { record } = found.placed
      if (record.ns === ns && (id === null || record.id === id)) return this.#tuple(thread, found)
    }
    return undefined
  }

  override async *list(config: RunnableConfig, options: CheckpointListOptions = {}): AsyncGenerator<CheckpointTuple> {
    const { thread_id, checkpoint_ns, checkpoint_id } = config.configurable ?? {}
    const { limit = Number.POSITIVE_INFINITY, before, filter = {} } = options
    const beforeId: unknown = before?.configurable?.['checkpoint_id']
    const threads = thread_id === undefined ? threadsOf(this.#store) : [this.#threadOf(thread_id)]
    let listed = 0
    for await (const thread of threads) {
      if (listed >= limit) return
      await this.#appends.get(thread.threadId)
      for await (const found of this.#checkpoints(thread)) {
        const { ns, id, metadata } = found.placed.record
        if (checkpoint_ns !== undefined && ns !== checkpoint_ns) continue
        if (checkpoint_id && id !== checkpoint_id) continue
        if (typeof beforeId === 'string' && id >= beforeId) continue
        const known = await this.#load<Record<string, unknown>>(metadata)
        if (!Object.entries(filter).every(([key, value]) => isSameJson(known[key] as Json, value as Json))) continue
        if (listed >= limit) return
        listed += 1
        yield await this.#tuple(thread, found)
      }
    }
  }

  override async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<RunnableConfig> {
    const { thread, ns } = this.#placeOf(config)
    const { channel_values: values, ...rest } = checkpoint
    const parent = getCheckpointId(config) || null
    const [stored, about] = await Promise.all([this.#dump(rest), this.#dump(metadata)])
    const changed = Object.keys(newVersions)
    // The first checkpoint of a thread has what is new, and nothing else.
    const kept =
      parent === null
        ? []
        : Object.keys(rest.channel_versions).filter((channel) => !Object.hasOwn(newVersions, channel))
    const dumped = new Map<string, Promise<SerialisedText | null>>()
    const textOf = (channel: string): Promise<SerialisedText | null> => {
      const text = dumped.get(channel) ?? this.#dumpValue(values, channel)
      dumped.set(channel, text)
      return text
    }
    // Copied now, because the graph continues while appends wait for each other.
    await Promise.all(changed.map(textOf))
    await this.#inOrder(thread, async () => {
      let texts: ReadonlyMap<string, SerialisedText> = new Map()
      // Durable from here: the checkpoint with all its channels, or nothing of it.
      const placed = await this.#append(thread, async () => {
        const before = parent === null ? null : await this.#find(thread, ns, parent)
        const channels = await this.#values.toStore(thread, before, { changed, kept }, textOf)
        texts = channels.texts
        const { id } = checkpoint
        return { type: 'checkpoint', ns, id, parent, checkpoint: stored, metadata: about, ...channels.stored } as const
      })
      this.#values.stored(thread, placed, texts)
    })
    return { configurable: { thread_id: thread.threadId, checkpoint_ns: ns, checkpoint_id: checkpoint.id } }
  }

  override async putWrites(config: RunnableConfig, writes: PendingWrite[], taskId: string): Promise<void> {
    const { thread, ns } = this.#placeOf(config)
    const id = getCheckpointId(config)
    if (!id) throw new InvalidArgumentError('configurable.checkpoint_id', 'is missing: writes belong to a checkpoint')
    const stored = await Promise.all(
      writes.map(async ([channel, value], place) => ({
        index: WRITES_IDX_MAP[channel] ?? place,
        channel,
        value: await this.#dump(value, channel),
      })),
    )
    // Durable from here: all writes of the task, or none.
    const record = { type: 'writes', ns, id, task: taskId, writes: stored } as const
    await this.#inOrder(thread, () => this.#append(thread, async () => record))
  }

  override async deleteThread(threadId: string): Promise<void> {
    const thread = this.#threadOf(threadId)
    await this.#inOrder(thread, () => thread.remove())
    this.#values.forget(thread)
  }

  /** Ancestors come before their children in the log, so one walk through it finds them all. */
  override async getDeltaChannelHistory(options: {
    config: RunnableConfig
    channels: string[]
  }): Promise<Record<string, DeltaChannelHistory>> {
    const { thread, ns } = this.#placeOf(options.config)
    const id = getCheckpointId(options.config) || null
    const histories = new Map<string, DeltaChannelHistory>(options.channels.map((channel) => [channel, { writes: [] }]))
    const open = new Set(options.channels)
    let wanted: string | null | undefined
    await this.#appends.get(thread.threadId)
    for await (const found of this.#checkpoints(thread)) {
      const { record } = found.placed
      if (open.size === 0 || wanted === null) break
      if (record.ns !== ns) continue
      if (wanted === undefined) {
        if (id === null || record.id === id) wanted = record.parent
        continue
      }
      if (record.id !== wanted) continue
      wanted = record.parent
      const writes = (await this.#pendingWrites(found.writes)).toSorted(([one], [other]) =>
        one < other ? -1 : one > other ? 1 : 0,
      )
      const values = await this.#channelValues(thread, found.placed, open)
      for (const channel of [...open]) {
        const history = histories.get(channel)!
        history.writes.unshift(...writes.filter((write) => write[1] === channel))
        if (!Object.hasOwn(values, channel)) continue
        history.seed = values[channel]
        open.delete(channel)
      }
    }
    return Object.fromEntries(histories)
  }

  #placeOf(config: RunnableConfig): { readonly thread: ThreadLog; readonly ns: string } {
    const { thread_id, checkpoint_ns = '' } = config.configurable ?? {}
    if (typeof checkpoint_ns !== 'string')
      throw new InvalidArgumentError('configurable.checkpoint_ns', 'must be a string')
    return { thread: this.#threadOf(thread_id), ns: checkpoint_ns }
  }

  #threadOf(threadId: unknown): ThreadLog {
    if (typeof threadId === 'string' && threadId !== '') return new ThreadLog(this.#store, threadId)
    const reason = 'must be a string that names the thread, as in { configurable: { thread_id: "ticket-42" } }'
    throw new InvalidArgumentError('configurable.thread_id', reason)
  }

  /** One append of a thread after the other, in the order of the calls. A failed one does not stop the next. */
  async #inOrder<T>(thread: ThreadLog, append: () => Promise<T>): Promise<T> {
    const { threadId } = thread
    const done = (this.#appends.get(threadId) ?? Promise.resolve()).then(append)
    const settled = done.then(
      () => {},
      () => {},
    )
    this.#appends.set(threadId, settled)
    try {
      return await done
    } finally {
      if (this.#appends.get(threadId) === settled) this.#appends.delete(threadId)
    }
  }

  /**
   * Appends where the log is known to end. Elsewhere the places in the record may be those of another log: then everything that is remembered of the thread is
   * forgotten, and the record made anew.
   */
  async #append<R extends ThreadRecord>(thread: ThreadLog, recordOf: () => Promise<R>): Promise<Placed<R>> {
    for (;;) {
      if (!this.#values.endOf(thread)) this.#values.forget(thread)
      const record = await recordOf()
      const result = await thread.append(record, this.#values.endOf(thread))
      if (result.ok) {
        this.#values.appended(thread, result.end)
        return { seq: result.seq, record }
      }
      this.#values.forget(thread)
    }
  }

  /** Newest first. A checkpoint that was put again counts once, as it was put last. */
  async *#checkpoints(thread: ThreadLog): AsyncGenerator<Found> {
    const writes = new Map<string, WritesRecord[]>()
    const seen = new Set<string>()
    for await (const { seq, record } of thread.newestFirst((end) => this.#values.sawEnd(thread, end))) {
      const key = JSON.stringify([record.ns, record.id])
      if (record.type === 'writes') {
        const others = writes.get(key)
        if (others) others.push(record)
        else writes.set(key, [record])
      } else if (!seen.has(key)) {
        seen.add(key)
        const placed = { seq, record }
        this.#values.located(thread, placed)
        yield { placed, writes: (writes.get(key) ?? []).toReversed() }
      }
    }
  }

  async #find(thread: ThreadLog, ns: string, id: string): Promise<PlacedCheckpoint | null> {
    const known = this.#values.locationOf(thread, ns, id)
    if (known) return known
    for await (const { placed } of this.#checkpoints(thread)) {
      if (placed.record.ns === ns && placed.record.id === id) return placed
    }
    return null
  }

  async #tuple(thread: ThreadLog, { placed, writes }: Found): Promise<CheckpointTuple> {
    const { record } = placed
    const checkpoint: Checkpoint = {
      ...(await this.#load<Omit<Checkpoint, 'channel_values'>>(record.checkpoint)),
      channel_values: await this.#channelValues(thread, placed),
    }
    const configOf = (id: string): RunnableConfig => ({
      configurable: { thread_id: thread.threadId, checkpoint_ns: record.ns, checkpoint_id: id },
    })
    if (checkpoint.v < 4 && record.parent !== null)
      await this.#migrateSends(thread, record.ns, record.parent, checkpoint)
    return {
      config: configOf(record.id),
      checkpoint,
      metadata: await this.#load<CheckpointMetadata>(record.metadata),
      ...(record.parent !== null && { parentConfig: configOf(record.parent) }),
      pendingWrites: await this.#pendingWrites(writes),
    }
  }

  /** Before version 4, what was sent to tasks was kept with the writes of the checkpoint before. */
  async #migrateSends(thread: ThreadLog, ns: string, parent: string, checkpoint: Checkpoint): Promise<void> {
    for await (const { placed, writes } of this.#checkpoints(thread)) {
      if (placed.record.ns !== ns || placed.record.id !== parent) continue
      const sent = (await this.#pendingWrites(writes)).filter(([, channel]) => channel === TASKS)
      const versions = Object.values(checkpoint.channel_versions)
      checkpoint.channel_values[TASKS] = sent.map(([, , value]) => value)
      checkpoint.channel_versions[TASKS] =
        versions.length > 0 ? maxChannelVersion(...versions) : this.getNextVersion(undefined)
      return
    }
  }

  async #channelValues(
    thread: ThreadLog,
    placed: PlacedCheckpoint,
    only?: ReadonlySet<string>,
  ): Promise<Record<string, unknown>> {
    const texts = await this.#values.of(thread, placed, only)
    return Object.fromEntries(
      await Promise.all([...texts].map(async ([channel, text]) => [channel, await this.#load<unknown>(text)] as const)),
    )
  }

  /** The first write of a task under an index counts. Of errors, interrupts and answers to them it is the last one. */
  async #pendingWrites(records: readonly WritesRecord[]): Promise<CheckpointPendingWrite[]> {
    const counting = new Map<string, readonly [string, string, SerialisedText]>()
    for (const { task, writes } of records) {
      for (const { index, channel, value } of writes) {
        const key = JSON.stringify([task, index])
        if (index < 0 || !counting.has(key)) counting.set(key, [task, channel, value])
      }
    }
    return Promise.all(
      [...counting.values()].map(
        async ([task, channel, value]): Promise<CheckpointPendingWrite> => [
          task,
          channel,
          await this.#load<unknown>(value),
        ],
      ),
    )
  }

  /** Throws for what LangGraph's serialiser gives up on: the thread could not be read again, or not as it was. */
  async #dump(value: unknown, channel?: string): Promise<SerialisedText> {
    const dumped = serialisedText(await this.serde.dumpsTyped(value))
    const isLost = dumped.text === '' || (dumped.text === givenUp && typeof value !== 'string')
    if (dumped.format !== 'json' || !isLost) return dumped
    const name = channel === undefined ? 'metadata' : `channel_values.${channel}`
    throw new InvalidArgumentError(
      name,
      'holds what the serialiser cannot keep, as a function or a bigint; leave it out, or pass a serde that keeps it',
    )
  }

  /** Null where the channel is empty. */
  async #dumpValue(values: Record<string, unknown>, channel: string): Promise<SerialisedText | null> {
    return Object.hasOwn(values, channel) ? this.#dump(values[channel], channel) : null
  }

  async #load<T>(text: SerialisedText): Promise<T> {
    return (await this.serde.loadsTyped(text.format, bytesOf(text))) as T
  }
}
