import { expect, inject, test } from 'vitest'
import { freshDatabase } from '../setup/fresh-database.ts'
import { largeInPostgresAt, largeInSqlite } from './programs/memory/places.ts'

/** A short form of `npm run live -- memory`: what eight readers ask for at once is more than the process may hold. */
const sizes = {
  megabytes: 16,
  shatteredValues: 120_000,
  heapMb: 144,
  readers: 8,
  pages: 1,
  silentMs: 100,
  kinds: ['long', 'shattered'],
} as const
const timeout = 300_000

test('a server with a small heap is read by eight at once, on every route (sqlite)', { timeout }, async () => {
  expect(await largeInSqlite(sizes)).toMatchObject({ violations: [] })
})

test('a server with a small heap is read by eight at once, on every route (postgres)', { timeout }, async () => {
  const place = await freshDatabase(inject('postgresUrl'))
  expect(await largeInPostgresAt(place, sizes)).toMatchObject({ violations: [] })
})
