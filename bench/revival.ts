import type { Store } from '../src/store/store.ts'
import { fillLog } from './fill-log.ts'
import { median, milliseconds, spread } from './measure.ts'

export const revivalLengths = [1_000, 10_000, 100_000] as const
/** Events that the summary does not cover. */
const tail = 50

export type RevivalResult = {
  readonly length: number
  readonly ms: number
  /** The first one after the store was opened. */
  readonly firstMs: number
  readonly spread: number
  readonly rowsRead: number
}

/** Counts the rows that the backend reads while `work` runs. */
export type RowsRead = (work: () => Promise<unknown>) => Promise<number>

export async function fillRevivals(store: Store): Promise<void> {
  for (const length of revivalLengths) {
    await fillLog(store, idOf(length), length)
    const toSeq = length - tail
    const base = { lastSeq: toSeq, title: null, seed: null, turns: [] }
    await store.putSummary(idOf(length), { fromSeq: 1, toSeq, version: 1, content: 'so far '.repeat(200), base })
  }
}

/** Loads each length in turn, so that other load affects all of them. */
export async function revivals(store: Store, rounds: number, rowsRead: RowsRead): Promise<RevivalResult[]> {
  const firstMs = new Map<number, number>()
  const times = new Map<number, number[]>(revivalLengths.map((length) => [length, []]))
  for (const length of revivalLengths) firstMs.set(length, await milliseconds(() => store.loadSince(idOf(length))))
  for (let round = -20; round < rounds; round++) {
    for (const length of revivalLengths) {
      const ms = await milliseconds(() => store.loadSince(idOf(length)))
      if (round >= 0) times.get(length)!.push(ms)
    }
  }
  const results: RevivalResult[] = []
  for (const length of revivalLengths) {
    const measured = times.get(length)!
    const rows = await rowsRead(() => store.loadSince(idOf(length)))
    results.push({
      length,
      ms: median(measured),
      firstMs: firstMs.get(length)!,
      spread: spread(measured),
      rowsRead: rows,
    })
  }
  return results
}

function idOf(length: number): string {
  return `revival-${length}`
}
