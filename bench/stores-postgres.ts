import pg from 'pg'
import { postgresStore } from '../src/store/postgres/index.ts'
import { freshDatabase } from '../test/setup/fresh-database.ts'
import { startPostgres } from '../test/setup/start-postgres.ts'
import { appendRates } from './append-rates.ts'
import { RawPostgres } from './raw-postgres.ts'
import { readRates } from './read-rates.ts'
import { fillRevivals, revivalLengths, revivals } from './revival.ts'
import { rowsReadPostgres } from './rows-read-postgres.ts'
import { sampleRow } from './sample-event.ts'
import type { StoreBench, StoreBenchOptions } from './store-bench.ts'

const poolSize = 10

export async function benchPostgres({ rounds, durationMs }: StoreBenchOptions): Promise<StoreBench> {
  const server = await startPostgres()
  try {
    const url = await freshDatabase(server.url)
    const raw = new RawPostgres(url, poolSize)
    await raw.createTable()
    const store = postgresStore({ connectionString: url, max: poolSize })
    const appends = await appendRates(
      { append: (lane, seq, type, content) => raw.append(`raw-${lane}`, seq, type, content) },
      store,
      { rounds, durationMs, rawLanes: (lanes) => lanes },
    )
    const read = await readRates(rawReads(raw), store, rounds * 20)
    await store.close()

    const sizesUrl = await freshDatabase(server.url)
    const reviving = postgresStore({ connectionString: sizesUrl, max: poolSize })
    await fillRevivals(reviving)
    const { bytesPerEvent, rawBytesPerEvent } = await sizes(sizesUrl)
    const revived = await revivals(reviving, rounds * 20, rowsReadPostgres(sizesUrl))
    await reviving.close()
    await raw.close()
    return { name: 'postgres', appends, read, revivals: revived, bytesPerEvent, rawBytesPerEvent }
  } finally {
    await server.destroy()
  }
}

function rawReads(raw: RawPostgres) {
  return {
    async fill(count: number) {
      for (let n = 0; n < count; n++) {
        const { type, content } = sampleRow(n)
        await raw.append('read', n + 1, type, content)
      }
    },
    read: () => raw.read('read'),
  }
}

/** The size of everything the store keeps, and of a table with the same events and nothing else. */
async function sizes(url: string): Promise<{ bytesPerEvent: number; rawBytesPerEvent: number }> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    await client.query(`
      CREATE SCHEMA raw;
      CREATE TABLE raw.events (LIKE perdure.events INCLUDING ALL);
      INSERT INTO raw.events SELECT * FROM perdure.events ORDER BY conversation_id, seq`)
    const { rows } = await client.query<{ schemaname: string; bytes: string }>(
      `SELECT schemaname, sum(pg_total_relation_size(format('%I.%I', schemaname, tablename)::regclass)) AS bytes
       FROM pg_tables WHERE schemaname IN ('perdure', 'raw') GROUP BY schemaname`,
    )
    const events = revivalLengths.reduce((sum, length) => sum + length, 0)
    const perEvent = (schema: string) =>
      Number(rows.find(({ schemaname }) => schemaname === schema)?.bytes ?? 0) / events
    return { bytesPerEvent: perEvent('perdure'), rawBytesPerEvent: perEvent('raw') }
  } finally {
    await client.end()
  }
}
