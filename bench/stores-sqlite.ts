import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sqliteStore } from '../src/store/sqlite/index.ts'
import { appendRates } from './append-rates.ts'
import { RawSqlite } from './raw-sqlite.ts'
import { readRates } from './read-rates.ts'
import { fillRevivals, revivalLengths, revivals } from './revival.ts'
import { rowsReadSqlite } from './rows-read-sqlite.ts'
import { sampleRow } from './sample-event.ts'
import type { StoreBench, StoreBenchOptions } from './store-bench.ts'

export async function benchSqlite({ rounds, durationMs }: StoreBenchOptions): Promise<StoreBench> {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-bench-'))
  const place = (name: string) => join(folder, name)
  try {
    const raw = new RawSqlite(place('raw.db'))
    const store = sqliteStore({ path: place('ours.db') })
    // The raw driver is synchronous: more conversations do not make it faster.
    const appends = await appendRates(raw, store, { rounds, durationMs, rawLanes: () => 1 })
    const read = await readRates(rawReads(raw), store, rounds * 20)
    await store.close()
    raw.close()

    const filling = sqliteStore({ path: place('revival.db') })
    await fillRevivals(filling)
    await filling.close()
    const bytesPerEvent = await fileBytesPerEvent(place('revival.db'))
    const rawBytesPerEvent = await rawBytes(place('raw-size.db'))
    const reviving = sqliteStore({ path: place('revival.db') })
    const revived = await revivals(reviving, rounds * 20, rowsReadSqlite(place('revival.db')))
    await reviving.close()
    return { name: 'sqlite', appends, read, revivals: revived, bytesPerEvent, rawBytesPerEvent }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const readCid = 1_000_000

function rawReads(raw: RawSqlite) {
  return {
    async fill(count: number) {
      for (let n = 0; n < count; n++) {
        const { type, content } = sampleRow(n)
        raw.append(readCid, n + 1, type, content)
      }
    },
    read: () => raw.read(readCid),
  }
}

const sizedEvents = revivalLengths.reduce((sum, length) => sum + length, 0)

/** Closing has moved the write-ahead log into the file. */
async function fileBytesPerEvent(path: string): Promise<number> {
  return (await stat(path)).size / sizedEvents
}

/** The same events in the raw table alone, in few transactions, because only the size matters. */
async function rawBytes(path: string): Promise<number> {
  const raw = new RawSqlite(path)
  raw.begin()
  for (const [index, length] of revivalLengths.entries()) {
    for (let n = 0; n < length; n++) {
      const { type, content } = sampleRow(n)
      raw.append(index + 1, n + 1, type, content)
    }
  }
  raw.commit()
  raw.close()
  return fileBytesPerEvent(path)
}
