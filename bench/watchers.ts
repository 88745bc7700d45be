import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync, StatementSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { silentLogger } from '../src/base/logger.ts'
import { defineAgent } from '../src/define/define-agent.ts'
import { createRuntime } from '../src/runtime/create-runtime.ts'
import type { Runtime } from '../src/runtime/runtime.ts'
import { postgresStore } from '../src/store/postgres/index.ts'
import { sqliteStore } from '../src/store/sqlite/index.ts'
import type { Store } from '../src/store/store.ts'
import { said } from '../test/log/story.ts'
import { startPostgres } from '../test/setup/start-postgres.ts'
import { instantModel } from './instant-model.ts'
import { inLanes } from './measure.ts'

/** The limit for watching while nothing happens, however much is watched. */
const maxPerSecond = 50
const measuredMs = 10_000
const lanes = 32

type Engine = { readonly store: Store; readonly other: Store; readonly count: () => number; close(): Promise<void> }

/**
 * How many queries per second watched and idle conversations cost, and how long a change by another process takes to
 * arrive without a hint. Fails when the limit is exceeded.
 */
export async function benchWatchers(args: readonly string[]): Promise<void> {
  const after = (option: string) => (args.includes(option) ? args[args.indexOf(option) + 1] : undefined)
  const conversations = args.includes('--quick') ? 1_000 : 10_000
  const results: Record<string, Figures> = {}
  for (const [name, open] of Object.entries(engines)) {
    if ((after('--only') ?? name) !== name) continue
    const engine = await open()
    try {
      results[name] = await benchEngine(engine, conversations)
    } finally {
      await engine.close()
    }
    console.log(JSON.stringify({ store: name, conversations, ...results[name] }))
    if (results[name].queriesPerSecond <= maxPerSecond) continue
    console.error(`${name}: ${results[name].queriesPerSecond} queries a second, and ${maxPerSecond} are allowed`)
    process.exitCode = 1
  }
  if (conversations !== 10_000 || after('--only') !== undefined) return
  mkdirSync(new URL('results', import.meta.url), { recursive: true })
  const figures = `${JSON.stringify({ conversations, results }, null, 2)}\n`
  writeFileSync(new URL('results/watchers.json', import.meta.url), figures)
}

type Figures = { readonly queriesPerSecond: number; readonly cpuPercent: number; readonly arrivesMs: number }

async function benchEngine({ store, other, count }: Engine, conversations: number): Promise<Figures> {
  const id = (n: number) => `watched-${n}`
  await inLanes(lanes, Math.ceil(conversations / lanes), (lane, n) =>
    other.commit(id(lane + n * lanes), { events: [said('t1')], conversation: { agent: 'bench' }, wakeAt: null }),
  )
  const agents = [defineAgent({ name: 'bench', model: instantModel() })]
  // Without hints, only polling finds what another process writes.
  const deaf: Store = { ...store, onWake: () => () => {} }
  const runtime = createRuntime({ agents, store: deaf, logger: silentLogger }) as unknown as Runtime
  const arrived = Promise.withResolvers<void>()
  const watching = Array.from({ length: conversations }, (_, n) => runtime.conversation(id(n)).watch())
  await inLanes(lanes, Math.ceil(conversations / lanes), async (lane, n) => watching[lane + n * lanes]?.next())
  const last = watching.at(-1)!
  void last.next().then(() => arrived.resolve())
  const [before, cpu] = [count(), process.cpuUsage()]
  await sleep(measuredMs)
  const queries = count() - before
  const { user, system } = process.cpuUsage(cpu)
  const writtenAt = performance.now()
  await other.commit(id(conversations - 1), { events: [said('t2')], wakeAt: null })
  await arrived.promise
  const arrivesMs = Math.round(performance.now() - writtenAt)
  await runtime.close()
  await Promise.all(watching.map((watched) => watched.return()))
  return {
    queriesPerSecond: Math.round(queries / (measuredMs / 1_000)),
    cpuPercent: Math.round((user + system) / 10 / measuredMs),
    arrivesMs,
  }
}

/** Counts the queries on all connections of this process. */
function counting(prototype: object, names: readonly string[]): () => number {
  let count = 0
  const methods = prototype as Record<string, (...args: unknown[]) => unknown>
  for (const name of names) {
    const method = methods[name]!
    methods[name] = function (this: unknown, ...args) {
      count += 1
      return method.apply(this, args)
    }
  }
  return () => count
}

const engines: Readonly<Record<string, () => Promise<Engine>>> = {
  sqlite: async () => {
    const folder = mkdtempSync(join(tmpdir(), 'perdure-bench-'))
    const counts = [
      counting(StatementSync.prototype, ['all', 'get', 'run', 'iterate']),
      counting(DatabaseSync.prototype, ['exec']),
    ]
    const [store, other] = [0, 1].map(() => sqliteStore({ path: join(folder, 'watchers.db') })) as [Store, Store]
    const close = async (): Promise<void> => {
      for (const open of [store, other]) await open.close()
      rmSync(folder, { recursive: true })
    }
    return { store, other, count: () => counts.reduce((sum, one) => sum + one(), 0), close }
  },
  postgres: async () => {
    const postgres = await startPostgres()
    const count = counting(pg.Client.prototype, ['query'])
    const [store, other] = [0, 1].map(() => postgresStore({ connectionString: postgres.url })) as [Store, Store]
    const close = async (): Promise<void> => {
      for (const open of [store, other]) await open.close()
      await postgres.destroy()
    }
    return { store, other, count, close }
  },
}
