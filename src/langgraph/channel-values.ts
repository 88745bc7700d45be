import { Lru } from '../base/lru.ts'
import { type KnownText, type SerialisedText, type StoredText, storedText, wholeText } from './channel-text.ts'
import type { CheckpointRecord, Placed, ThreadLog, ValuePlace } from './thread-log.ts'

export type PlacedCheckpoint = Placed<CheckpointRecord>

type StoredChannels = Pick<CheckpointRecord, 'values' | 'carried'>

/** The values of channels: where they are in the log, how they are stored there, and those that were used last. */
export class ChannelValues {
  readonly #located = new Lru<PlacedCheckpoint>({ entries: 256, bytes: 16 * 1024 * 1024, weigh: weightOf })
  readonly #texts = new Lru<KnownText>({
    entries: 4_096,
    bytes: 64 * 1024 * 1024,
    weigh: ({ text }) => text.length * 2,
  })
  /** Of threads that were deleted here. */
  readonly #generations = new Lru<number>({ entries: 10_000 })

  located(thread: ThreadLog, placed: PlacedCheckpoint): void {
    this.#located.set(this.#key(thread, placed.record.ns, placed.record.id), placed)
  }

  locationOf(thread: ThreadLog, ns: string, id: string): PlacedCheckpoint | null {
    return this.#located.get(this.#key(thread, ns, id)) ?? null
  }

  /** How a checkpoint stores its channels: `changed` in itself, and `kept` by the place where the checkpoint before has them. */
  async toStore(
    thread: ThreadLog,
    before: PlacedCheckpoint | null,
    changed: ReadonlyMap<string, SerialisedText>,
    kept: readonly string[],
  ): Promise<StoredChannels> {
    const values: [string, StoredText][] = []
    for (const [channel, text] of changed) {
      const place = before && placeOf(before, channel)
      values.push([channel, storedText(text, place && (await this.#text(thread, before.record.ns, channel, place)))])
    }
    const carried = kept.flatMap((channel) => {
      const place = before && placeOf(before, channel)
      return place ? [[channel, place] as const] : []
    })
    return { values: Object.fromEntries(values), carried: Object.fromEntries(carried) }
  }

  /** The checkpoint is in the log. `changed`: its values, whole. */
  stored(thread: ThreadLog, placed: PlacedCheckpoint, changed: ReadonlyMap<string, SerialisedText>): void {
    this.located(thread, placed)
    const { seq, record } = placed
    for (const [channel, text] of changed) {
      const base = record.values[channel]?.base
      const known = { ...text, seq, whole: base?.whole ?? seq, added: base?.added ?? 0 }
      this.#texts.set(this.#key(thread, record.ns, record.id, channel), known)
    }
  }

  /** The values of a checkpoint, by channel. */
  async of(
    thread: ThreadLog,
    placed: PlacedCheckpoint,
    only?: ReadonlySet<string>,
  ): Promise<Map<string, SerialisedText>> {
    const { record } = placed
    const channels = [...Object.keys(record.values), ...Object.keys(record.carried)]
    const texts = new Map<string, SerialisedText>()
    for (const channel of channels) {
      if (only && !only.has(channel)) continue
      const text = await this.#text(thread, record.ns, channel, placeOf(placed, channel)!, placed)
      if (text) texts.set(channel, text)
    }
    return texts
  }

  forget(thread: ThreadLog): void {
    this.#generations.set(thread.threadId, (this.#generations.get(thread.threadId) ?? 0) + 1)
  }

  async #text(
    thread: ThreadLog,
    ns: string,
    channel: string,
    { seq, id }: ValuePlace,
    placed?: PlacedCheckpoint,
  ): Promise<KnownText | null> {
    const key = this.#key(thread, ns, id, channel)
    const known = this.#texts.get(key)
    if (known) return known
    const own = placed?.seq === seq ? placed : await this.#recordAt(thread, seq)
    if (!own || !Object.hasOwn(own.record.values, channel)) return null
    const stored = own.record.values[channel]!
    const text = stored.base
      ? await readChain(thread, ns, channel, seq, stored.base.whole)
      : wholeText(stored, seq, null)
    if (text) this.#texts.set(key, text)
    return text
  }

  async #recordAt(thread: ThreadLog, seq: number): Promise<PlacedCheckpoint | null> {
    for await (const { seq: at, record } of thread.from(seq, seq)) {
      if (at === seq && record.type === 'checkpoint') return { seq, record }
    }
    return null
  }

  #key({ threadId }: ThreadLog, ...names: readonly string[]): string {
    return JSON.stringify([threadId, this.#generations.get(threadId) ?? 0, ...names])
  }
}

/** Puts a value together from the whole one at `whole` and the ends stored since, other branches of the thread left aside. */
async function readChain(
  thread: ThreadLog,
  ns: string,
  channel: string,
  seq: number,
  whole: number,
): Promise<KnownText | null> {
  const texts = new Map<number, KnownText>()
  for await (const { seq: at, record } of thread.from(whole, seq)) {
    if (record.type !== 'checkpoint' || record.ns !== ns || !Object.hasOwn(record.values, channel)) continue
    const stored = record.values[channel]!
    const before = stored.base ? texts.get(stored.base.seq) : null
    if (before !== undefined) texts.set(at, wholeText(stored, at, before))
  }
  return texts.get(seq) ?? null
}

function placeOf({ seq, record }: PlacedCheckpoint, channel: string): ValuePlace | null {
  if (Object.hasOwn(record.values, channel)) return { seq, id: record.id }
  return Object.hasOwn(record.carried, channel) ? record.carried[channel]! : null
}

function weightOf({ record }: PlacedCheckpoint): number {
  return 2 * Object.values(record.values).reduce((sum, { text }) => sum + text.length, 1_000)
}
