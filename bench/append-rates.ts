import type { Store } from '../src/store/store.ts'
import { median, rateDuring, spread } from './measure.ts'
import { sampleEvent, sampleRow } from './sample-event.ts'

export type Raw = { append(lane: number, seq: number, type: string, content: string): Promise<void> | void }

export type AppendOptions = {
  readonly rounds: number
  /** How long each measurement lasts. */
  readonly durationMs: number
  /** How many conversations the raw driver is measured with, for each number of the store's. */
  readonly rawLanes: (lanes: number) => number
}

export type AppendResult = {
  readonly lanes: number
  readonly what: 'append' | 'owner'
  readonly rawPerSecond: number
  readonly perSecond: number
  /** The median over rounds of the store's rate divided by the raw rate measured right before it. */
  readonly ratio: number
  readonly spread: number
}

const cases = [
  { lanes: 1, what: 'append' },
  { lanes: 16, what: 'append' },
  { lanes: 64, what: 'append' },
  { lanes: 1, what: 'owner' },
  { lanes: 64, what: 'owner' },
] as const

/**
 * Measures appends, alternating between raw driver and store, so that other load affects both. `append` is
 * `appendEvent`; `owner` is the commit of a runtime: expected seq, epoch and cached state with the event.
 */
export async function appendRates(raw: Raw, store: Store, options: AppendOptions): Promise<AppendResult[]> {
  const writer = new Writer(raw, store)
  const rates = cases.map(() => ({ raw: [] as number[], ours: [] as number[] }))
  for (let round = -1; round < options.rounds; round++) {
    for (const [index, { lanes, what }] of cases.entries()) {
      const rawRate = await writer.raw(options.rawLanes(lanes), options.durationMs)
      const ourRate = await writer.ours(what, lanes, options.durationMs)
      // The first round warms up.
      if (round < 0) continue
      rates[index]!.raw.push(rawRate)
      rates[index]!.ours.push(ourRate)
    }
  }
  return cases.map((one, index) => {
    const { raw: rawRates, ours } = rates[index]!
    const ratios = ours.map((rate, round) => rate / rawRates[round]!)
    const [rawPerSecond, perSecond] = [median(rawRates), median(ours)]
    return { ...one, rawPerSecond, perSecond, ratio: median(ratios), spread: spread(ratios) }
  })
}

/** Each measurement writes to its own conversations, which exist before the clock starts. */
class Writer {
  readonly #raw: Raw
  readonly #store: Store
  #conversations = 0

  constructor(raw: Raw, store: Store) {
    this.#raw = raw
    this.#store = store
  }

  raw(lanes: number, durationMs: number): Promise<number> {
    const first = this.#take(lanes)
    const rows = Array.from({ length: 100 }, (_, n) => sampleRow(n))
    return rateDuring(lanes, durationMs, async (lane, n) => {
      const { type, content } = rows[n % rows.length]!
      await this.#raw.append(first + lane, n + 1, type, content)
    })
  }

  async ours(what: 'append' | 'owner', lanes: number, durationMs: number): Promise<number> {
    const first = this.#take(lanes)
    const samples = Array.from({ length: 100 }, (_, n) => sampleEvent(n))
    const epochs: number[] = []
    for (let lane = 0; lane < lanes; lane++) {
      await this.#store.putConversation(idOf(first + lane), { agent: 'bench' })
      epochs.push((await this.#store.acquireLease(idOf(first + lane), 'bench', 3_600_000))!.epoch)
    }
    return rateDuring(lanes, durationMs, async (lane, n) => {
      const id = idOf(first + lane)
      const event = samples[n % samples.length]!
      if (what === 'append') return this.#store.appendEvent(id, event)
      const fsmState = { state: 'running', pending: [], lastSeq: n + 1 } as const
      return this.#store.commit(id, { events: [event], expectedSeq: n, epoch: epochs[lane]!, fsmState })
    })
  }

  #take(lanes: number): number {
    this.#conversations += lanes
    return this.#conversations - lanes + 1
  }
}

function idOf(number: number): string {
  return `0198d4a2-7c1e-7000-9000-${String(number).padStart(12, '0')}`
}
