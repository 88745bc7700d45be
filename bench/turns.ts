import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { systemClock } from '../src/base/clock.ts'
import { defineAgent } from '../src/define/define-agent.ts'
import { defineTool } from '../src/define/define-tool.ts'
import { encode } from '../src/log/codec.ts'
import { baseOf } from '../src/log/state.ts'
import { createRuntime } from '../src/runtime/create-runtime.ts'
import type { Runtime } from '../src/runtime/runtime.ts'
import { createStore } from '../src/store/create-store.ts'
import type { Driver } from '../src/store/driver.ts'
import { memoryDriver } from '../src/store/memory/memory-store.ts'
import { postgresStore } from '../src/store/postgres/index.ts'
import { sqliteStore } from '../src/store/sqlite/index.ts'
import type { Store } from '../src/store/store.ts'
import { loadWhole } from '../src/store/working-sets.ts'
import { startPostgres } from '../test/setup/start-postgres.ts'
import { instantModel } from './instant-model.ts'
import { inLanes, median, ratePerSecond, spread } from './measure.ts'
import { RawPostgres } from './raw-postgres.ts'
import { type RawRow, RawSqlite } from './raw-sqlite.ts'
import { benchTurnsAgainst } from './turns-against.ts'

const workingSetTurns = 20
/** How many events each commit of a turn with a tool call has. */
const commitSizes = [1, 3, 1, 2]
const eventsPerTurn = 7
const lengths = [5, 100, 1_000, 5_000]
/**
 * Enough copies of each length that none grows by more than a few turns during the measurement. Long ones take long to
 * copy.
 */
const copiesOf = (length: number): number => (length > 1_000 ? 10 : 30)
const turnsPerCopy = 10
const keptInMemory = 'length 5, kept'

type Engine = {
  readonly name: 'sqlite' | 'postgres'
  readonly store: Store
  /** A commit by the raw driver. */
  rawCommit(rows: readonly RawRow[]): Promise<void>
  close(): Promise<void>
}

/**
 * What the engine adds to a turn with one tool call. The model answers at once, so that only commits and Perdure's own
 * work count. A turn is a message, an answer with a call that starts, its result, and the last answer: four commits, as
 * the raw driver makes.
 */
export async function benchTurns(args: readonly string[]): Promise<void> {
  if (args.includes('--against')) return await benchTurnsAgainst(args[args.indexOf('--against') + 1] ?? '', args)
  const isQuick = args.includes('--quick')
  const only = args.includes('--only') ? args[args.indexOf('--only') + 1] : undefined
  const rounds = isQuick ? 3 : 7
  const ratios: Record<string, number> = {}
  for (const open of [openSqlite, openPostgres]) {
    if (only !== undefined && !open.name.toLowerCase().endsWith(only)) continue
    const engine = await open()
    try {
      Object.assign(ratios, await benchEngine(engine, rounds, isQuick ? 100 : 300))
    } finally {
      await engine.close()
    }
  }
  console.log(JSON.stringify({ ratios }))
  if (isQuick) return
  mkdirSync(new URL('results', import.meta.url), { recursive: true })
  writeFileSync(new URL('results/turns.json', import.meta.url), `${JSON.stringify({ ratios }, null, 2)}\n`)
}

async function benchEngine(
  { name, store, rawCommit }: Engine,
  rounds: number,
  turns: number,
): Promise<Record<string, number>> {
  const rates: Record<string, number[]> = {}
  const note = (what: string, rate: number) => (rates[what] ??= []).push(rate)
  for (const length of lengths) await prepare(store, length)
  const turnRows = await rowsOfTurn(store)
  const fourRows = commitSizes.map(() => [{ type: 'user_msg', content }])
  const raw = (commits: readonly RawRow[][]) => async () => {
    for (const rows of commits) await rawCommit(rows)
  }
  for (let round = 0; round < rounds; round++) {
    note('raw', await ratePerSecond(turns, () => inLanes(1, turns, raw(fourRows))))
    note('raw, its rows', await ratePerSecond(turns, () => inLanes(1, turns, raw(turnRows))))
    note('engine on raw', await engineRate(turns, () => rawCommit(fourRows[0]!)))
    note('without a disk', await engineRate(turns, async () => {}))
    for (const length of lengths)
      note(`length ${length}`, await withRuntime(store, (runtime) => lengthRate(runtime, length, turns)))
    await summariseAll(store)
    note(keptInMemory, await withRuntime(store, (runtime) => keptRate(runtime, turns)))
    note('64 conversations', await withRuntime(store, (runtime) => wideRate(runtime, round, turns)))
    await summariseAll(store)
  }
  const medians = Object.fromEntries(Object.entries(rates).map(([what, values]) => [what, median(values)]))
  console.log(`\n${name}: tool turns per second (median of ${rounds}, spread)`)
  for (const [what, values] of Object.entries(rates)) {
    const share = median(values) / medians['raw']!
    console.log(
      `  ${what.padEnd(18)} ${median(values).toFixed(0).padStart(6)}  ±${(spread(values) * 100).toFixed(0)} %  ${share.toFixed(2)}x raw`,
    )
  }
  return {
    [`${name}.turn_vs_raw`]: medians['length 5']! / medians['raw']!,
    [`${name}.kept_turn_vs_raw`]: medians[keptInMemory]! / medians['raw']!,
    [`${name}.turn_vs_raw_its_rows`]: medians['length 5']! / medians['raw, its rows']!,
    [`${name}.turn_vs_engine_on_raw`]: medians['length 5']! / medians['engine on raw']!,
    [`${name}.length_5000_vs_5`]: medians['length 5']! / medians['length 5000']!,
    [`${name}.length_1000_vs_5`]: medians['length 5']! / medians['length 1000']!,
    [`${name}.length_100_vs_5`]: medians['length 5']! / medians['length 100']!,
    [`${name}.64_vs_1`]: medians['64 conversations']! / medians['length 5']!,
  }
}

/** What the four commits of a turn append, as the engine wrote it. */
async function rowsOfTurn(store: Store): Promise<RawRow[][]> {
  const events = (await store.streamEvents(idOf(lengths[0]!, 0))).slice(-eventsPerTurn)
  const rows = events.map(({ type, content }) => ({ type, content: encode(content as never) }))
  return commitSizes.map((size) => rows.splice(0, size))
}

/**
 * The same turns on a memory store whose commits each wait for another commit. With a commit of the raw driver, this is
 * the upper limit for a store whose tables and checks cost nothing: a driver is slower when other work comes between
 * its commits.
 */
async function engineRate(turns: number, commit: () => Promise<void>): Promise<number> {
  const memory = memoryDriver()
  let isPrepared = false
  const driver: Driver = {
    ...memory,
    async commit(...change) {
      const outcome = await memory.commit(...change)
      if (isPrepared) await commit()
      return outcome
    },
  }
  const [length] = lengths
  const store = createStore(driver, {}, systemClock)
  try {
    await withRuntime(store, (runtime) =>
      inLanes(1, workingSetTurns * copiesOf(length!), (_, n) => oneTurn(runtime, idOf(length!, n % copiesOf(length!)))),
    )
    isPrepared = true
    return await withRuntime(store, (runtime) => lengthRate(runtime, length!, turns))
  } finally {
    await store.close()
  }
}

/** A new runtime, so that each measurement starts with what the store has, not with what another one left in memory. */
async function withRuntime<T>(store: Store, work: (runtime: Runtime) => Promise<T>): Promise<T> {
  const runtime = createRuntime({ agents: [benchAgent()], store }) as unknown as Runtime
  try {
    return await work(runtime)
  } finally {
    await runtime.close()
  }
}

function lengthRate(runtime: Runtime, length: number, most: number): Promise<number> {
  const copies = copiesOf(length)
  const turns = Math.min(most, copies * turnsPerCopy)
  return ratePerSecond(turns, () => inLanes(1, turns, (_, n) => oneTurn(runtime, idOf(length, n % copies))))
}

/** Excludes the cost of reviving: each conversation has had a turn in this process before it is measured. */
async function keptRate(runtime: Runtime, most: number): Promise<number> {
  const [length] = lengths
  const copies = copiesOf(length!)
  const turns = Math.min(most, copies * turnsPerCopy)
  const one = (_: number, n: number) => oneTurn(runtime, idOf(length!, n % copies))
  await inLanes(1, copies, one)
  return await ratePerSecond(turns, () => inLanes(1, turns, one))
}

function wideRate(runtime: Runtime, round: number, turns: number): Promise<number> {
  const lanes = 64
  const perLane = Math.max(2, Math.ceil(turns / 16))
  return ratePerSecond(lanes * perLane, () =>
    inLanes(lanes, perLane, (lane) => oneTurn(runtime, `wide-${round}-${lane}`)),
  )
}

function idOf(length: number, copy: number): string {
  return `length-${length}-${copy}`
}

function benchAgent() {
  const look = defineTool({
    name: 'look',
    description: 'Look it up',
    input: z.object({ q: z.string() }),
    run: () => ({ found: 42 }),
  })
  // The bench writes the summaries, so that every length has the same working set.
  return defineAgent({ name: 'bench', model: instantModel(), tools: [look], context: { summarise: false } })
}

async function oneTurn(runtime: Runtime, id: string): Promise<void> {
  const turn = await runtime.conversation(id, { agent: 'bench' }).send('What is the answer?')
  const outcome = await turn.outcome()
  if (outcome.status !== 'completed') throw new Error(`a turn ended ${JSON.stringify(outcome)}`)
}

async function prepare(store: Store, length: number): Promise<void> {
  await withRuntime(store, async (runtime) => {
    for (let turn = 0; turn < length; turn++) {
      await oneTurn(runtime, idOf(length, 0))
      if (turn % 50 === 49) await summarise(store, idOf(length, 0))
    }
  })
  await summarise(store, idOf(length, 0))
  for (let copy = 1; copy < copiesOf(length); copy++) await store.fork(idOf(length, 0), idOf(length, copy))
}

async function summariseAll(store: Store): Promise<void> {
  for (const length of lengths)
    for (let copy = 0; copy < copiesOf(length); copy++) await summarise(store, idOf(length, copy))
}

/** Leaves a working set of twenty turns, whatever the length. */
async function summarise(store: Store, id: string): Promise<void> {
  const { state } = await loadWhole(store, id)
  const kept = state.turns.slice(-workingSetTurns)
  const last = state.turns.at(-workingSetTurns - 1)
  if (!last?.end) return
  const base = { ...baseOf(state), lastSeq: last.end.seq, turns: [] }
  if (kept.some((turn) => turn.firstSeq < last.end!.seq)) return
  await store.putSummary(id, { fromSeq: 1, toSeq: last.end.seq, content: 'the turns before', version: 1, base })
}

async function openSqlite(): Promise<Engine> {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-bench-'))
  const store = sqliteStore({ path: join(folder, 'turns.db') })
  const raw = new RawSqlite(join(folder, 'raw.db'))
  let seq = 1
  return {
    name: 'sqlite',
    store,
    async rawCommit(rows) {
      raw.appendAll(0, seq, rows)
      seq += rows.length
    },
    async close() {
      await store.close()
      raw.close()
      rmSync(folder, { recursive: true })
    },
  }
}

async function openPostgres(): Promise<Engine> {
  const server = await startPostgres()
  const store = postgresStore({ connectionString: server.url, max: 8 })
  const raw = new RawPostgres(server.url, 8)
  await raw.createTable()
  let seq = 1
  return {
    name: 'postgres',
    store,
    async rawCommit(rows) {
      const first = seq
      seq += rows.length
      await raw.appendAll('raw', first, rows)
    },
    async close() {
      await store.close()
      await raw.close()
      await server.destroy()
    },
  }
}

/** About the content of one commit's events. */
const content = JSON.stringify({
  turnId: 'x'.repeat(36),
  text: 'x'.repeat(80 * Math.ceil(eventsPerTurn / 4)),
  usage: {},
})
