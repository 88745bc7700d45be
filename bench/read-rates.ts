import type { Store } from '../src/store/store.ts'
import { fillLog } from './fill-log.ts'
import { median, milliseconds, spread } from './measure.ts'

export type ReadResult = {
  readonly rawMs: number
  readonly ms: number
  readonly ratio: number
  readonly spread: number
}

/**
 * Reads a whole log of 1,000 events, alternating between raw driver and store. The ratio is how much faster the store
 * is.
 */
export async function readRates(
  raw: { fill(events: number): Promise<void>; read(): Promise<unknown[]> | unknown[] },
  store: Store,
  rounds: number,
): Promise<ReadResult> {
  const events = 1000
  await raw.fill(events)
  await fillLog(store, 'read', events)
  const times = { raw: [] as number[], ours: [] as number[] }
  for (let round = -5; round < rounds; round++) {
    const rawMs = await milliseconds(() => raw.read())
    const ms = await milliseconds(() => store.streamEvents('read'))
    if (round < 0) continue
    times.raw.push(rawMs)
    times.ours.push(ms)
  }
  const ratios = times.ours.map((ms, round) => times.raw[round]! / ms)
  return { rawMs: median(times.raw), ms: median(times.ours), ratio: median(ratios), spread: spread(ratios) }
}
