import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { postgresStore } from '../src/store/postgres/index.ts'
import { sqliteStore } from '../src/store/sqlite/index.ts'
import type { Store } from '../src/store/store.ts'
import { startPostgres } from '../test/setup/start-postgres.ts'
import { median, milliseconds } from './measure.ts'
import { fillConversation } from './turn-events.ts'

const lengths = [100, 1_000, 10_000]
const manyForks = 1_000
/** The limit for a fork of ten thousand events on SQLite. */
const limitMs = 150

/** How long forking takes by the length of the parent, and a thousand forks of one parent that all diverge. */
export async function benchForks(args: readonly string[]): Promise<void> {
  const isQuick = args.includes('--quick')
  const only = args.includes('--only') ? args[args.indexOf('--only') + 1] : undefined
  const figures: Record<string, number> = {}
  if (only !== 'postgres')
    await withSqlite(async (store) => Object.assign(figures, await bench('sqlite', store, isQuick)))
  if (only !== 'sqlite')
    await withPostgres(async (store) => Object.assign(figures, await bench('postgres', store, isQuick)))
  console.log(JSON.stringify({ figures, load: loadavg()[0] }))
  const slowest = figures['sqlite.fork_10000_ms'] ?? 0
  if (slowest > limitMs) {
    console.error(`A fork of 10,000 events took ${slowest.toFixed(0)} ms; it may take ${limitMs}.`)
    process.exitCode = 1
  }
  if (isQuick || only) return
  mkdirSync(new URL('results', import.meta.url), { recursive: true })
  writeFileSync(new URL('results/forks.json', import.meta.url), `${JSON.stringify({ figures }, null, 2)}\n`)
}

async function bench(name: string, store: Store, isQuick: boolean): Promise<Record<string, number>> {
  const figures: Record<string, number> = {}
  const rounds = isQuick ? 5 : 15
  for (const length of lengths) {
    const parent = `parent-${length}`
    await fillConversation(store, parent, length)
    const before = await digestOf(store, parent)
    const times: number[] = []
    for (let n = 0; n < rounds; n++) times.push(await milliseconds(() => store.fork(parent, `${parent}-${n}`)))
    figures[`${name}.fork_${length}_ms`] = median(times)
    figures[`${name}.fork_${length}_slowest_ms`] = Math.max(...times)
    if ((await digestOf(store, parent)) !== before) throw new Error(`forking changed the rows of ${parent}`)
  }
  Object.assign(figures, await diverging(name, store, isQuick ? manyForks / 10 : manyForks))
  console.log(`\n${name}`)
  for (const [what, figure] of Object.entries(figures))
    console.log(`  ${what.padEnd(36)} ${figure.toFixed(1).padStart(10)}`)
  return figures
}

/** Each fork answers the pending call differently. */
async function diverging(name: string, store: Store, count: number): Promise<Record<string, number>> {
  const parent = 'parent-100'
  const before = await digestOf(store, parent)
  const forkedMs = await milliseconds(async () => {
    for (let n = 0; n < count; n++) await store.fork(parent, `diverging-${n}`)
  })
  const divergedMs = await milliseconds(async () => {
    for (let n = 0; n < count; n++) {
      const [pending] = await store.pendingToolCalls(`diverging-${n}`)
      const answer = await store.resolveToolCall(pending!.id, n % 2 === 0 ? 'resolved' : 'denied', { fork: n })
      if (answer !== 'ok') throw new Error(`fork ${n} had been answered by another`)
    }
  })
  for (const n of [0, Math.floor(count / 2), count - 1]) {
    const last = (await store.streamEvents(`diverging-${n}`)).at(-1)
    if (last?.type !== 'resolution' || JSON.stringify(last.content.value) !== JSON.stringify({ fork: n })) {
      throw new Error(`fork ${n} did not go its own way`)
    }
  }
  if ((await digestOf(store, parent)) !== before) throw new Error('a fork changed the rows of its parent')
  if ((await store.pendingToolCalls(parent)).length !== 1) throw new Error('the parent no longer waits')
  return {
    [`${name}.forks_of_100_per_second`]: (count * 1_000) / forkedMs,
    [`${name}.diverging_answers_per_second`]: (count * 1_000) / divergedMs,
  }
}

/** A digest of everything the store has of a conversation. */
async function digestOf(store: Store, id: string): Promise<string> {
  const rows = [
    await store.getConversation(id),
    await store.streamEvents(id),
    await store.pendingToolCalls(id),
    await store.loadSince(id),
  ]
  return createHash('sha256').update(JSON.stringify(rows)).digest('hex')
}

async function withSqlite(use: (store: Store) => Promise<unknown>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-bench-'))
  const store = sqliteStore({ path: join(folder, 'forks.db') })
  try {
    await use(store)
  } finally {
    await store.close()
    rmSync(folder, { recursive: true })
  }
}

async function withPostgres(use: (store: Store) => Promise<unknown>): Promise<void> {
  const server = await startPostgres()
  const store = postgresStore({ connectionString: server.url, max: 8 })
  try {
    await use(store)
  } finally {
    await store.close()
    await server.destroy()
  }
}
