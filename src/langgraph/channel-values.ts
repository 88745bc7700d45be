import { Lru } from '../base/lru.ts'
import type { EventPlace } from '../store/store.ts'
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
  /** Counts how often all that was remembered of a thread was forgotten. */
  readonly #generations = new Lru<number>({ entries: 10_000 })
  readonly #ends = new Lru<EventPlace>({ entries: 1_000 })

  /** Where the log of a thread ended when it was last read or appended to. Null: not remembered. */
  endOf({ threadId }: ThreadLog): EventPlace | null {
    return this.#ends.get(threadId) ?? null
  }

  /** The log was read. Where it ends elsewhere than is known, another process has appended to it or deleted it. */
  sawEnd(thread: ThreadLog, end: EventPlace | null): void {
    const known = this.endOf(thread)
    if (known && known.seq === end?.seq && known.at === end.at) return
    this.forget(thread)
    if (end) this.#ends.set(thread.threadId, end)
  }

  /** A record was appended where the log was known to end, so what is remembered still counts. */
  appended(thread: ThreadLog, end: EventPlace | null): void {
    if (end) this.#ends.set(thread.threadId, end)
    else this.forget(thread)
  }

  located(thread: ThreadLog, placed: PlacedCheckpoint): void {
    this.#located.set(this.#key(thread, placed.record.ns, placed.record.id), placed)
  }

  locationOf(thread: ThreadLog, ns: string, id: string): PlacedCheckpoint | null {
    return this.#located.get(this.#key(thread, ns, id)) ?? null
  }

  /**
   * How a checkpoint stores its channels: `changed` in itself, and `kept` by the place where the checkpoint before has them. What that one does not have is asked of
   * `textOf` and stored here. `texts`: all values that are stored here, whole.
   */
  async toStore(
    thread: ThreadLog,
    before: PlacedCheckpoint | null,
    { changed, kept }: { readonly changed: readonly string[]; readonly kept: readonly string[] },
    textOf: (channel: string) => Promise<SerialisedText | null>,
  ): Promise<{ readonly stored: StoredChannels; readonly texts: ReadonlyMap<string, SerialisedText> }> {
    const places = new Map(kept.map((channel) => [channel, before && placeOf(before, channel)]))
    const texts = new Map<string, SerialisedText>()
    const values: [string, StoredText][] = []
    for (const channel of [...changed, ...kept.filter((one) => !places.get(one))]) {
      const text = await textOf(channel)
      if (!text) continue
      texts.set(channel, text)
      const place = before && placeOf(before, channel)
      values.push([channel, storedText(text, place && (await this.#text(thread, before.record.ns, channel, place)))])
    }
    const carried = [...places].flatMap(([channel, place]) => (place ? [[channel, place] as const] : []))
    return { stored: { values: Object.fromEntries(values), carried: Object.fromEntries(carried) }, texts }
  }

  /** The checkpoint is in the log. `texts`: its values, whole. */
  stored(thread: ThreadLog, placed: PlacedCheckpoint, texts: ReadonlyMap<string, SerialisedText>): void {
    this.located(thread, placed)
    const { seq, record } = placed
    for (const [channel, text] of texts) {
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

  forget({ threadId }: ThreadLog): void {
    this.#generations.set(threadId, (this.#generations.get(threadId) ?? 0) + 1)
    this.#ends.delete(threadId)
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
