import { expect, inject, onTestFinished, test } from 'vitest'
import { freshDatabase } from '../setup/fresh-database.ts'
import { memoryBackend, postgresBackend, sqliteBackend } from './backends.ts'
import { checkStore } from './check-store.ts'

/** The long runs are `node test/reference-store/run.ts --store sqlite --ops 50000 --seed 7`. */
const seed = Number(process.env['PERDURE_REFERENCE_SEED'] ?? 20_301)
const generousMs = 120_000

test('the memory store does what the reference store does', { timeout: generousMs }, async () => {
  const tally = await checkStore(memoryBackend, { operations: 6000, seed })
  expect(tally.operations).toBeGreaterThanOrEqual(6000)
  expect(tally.expiries).toBeGreaterThan(0)
})

test('SQLite does what the reference store does, also when it is opened twice and reopened', {
  timeout: generousMs,
}, async () => {
  const backend = await sqliteBackend()
  onTestFinished(() => backend.destroy())
  const tally = await checkStore(() => backend, { operations: 3000, seed })
  expect(tally.operations).toBeGreaterThanOrEqual(3000)
  expect(tally.reopens).toBeGreaterThan(0)
  expect(tally.expiries).toBeGreaterThan(0)
})

test('Postgres does what the reference store does, also when it is opened twice and reopened', {
  timeout: generousMs,
}, async () => {
  const backend = postgresBackend(await freshDatabase(inject('postgresUrl')))
  const tally = await checkStore(() => backend, { operations: 2000, seed })
  expect(tally.operations).toBeGreaterThanOrEqual(2000)
  expect(tally.reopens).toBeGreaterThan(0)
  expect(tally.expiries).toBeGreaterThan(0)
})
