/**
 * One young process: `node young-child.ts memory -`, `sqlite <folder>` or `postgres <url>`. After 15 turns it measures first turns of new
 * conversations, then 16 conversations at once, then one conversation of 500 turns: its turns as it grows, and its size. Each is measured beside
 * the raw driver, where there is one.
 */
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { z } from 'zod'
import { createRuntime, defineAgent, defineTool, memoryStore, type Runtime } from '../src/index.ts'
import { encode } from '../src/log/codec.ts'
import { postgresStore } from '../src/store/postgres/index.ts'
import { sqliteStore } from '../src/store/sqlite/index.ts'
import type { Store } from '../src/store/store.ts'
import { instantModel } from './instant-model.ts'
import { inLanes, median, milliseconds, ratePerSecond } from './measure.ts'
import { RawPostgres } from './raw-postgres.ts'
import { type RawRow, RawSqlite } from './raw-sqlite.ts'

/** All of one process. Times are milliseconds, rates turns a second, sizes bytes; `cpu` is processor time of this process for each turn. */
export type YoungSample = {
  readonly turnMs: number
  readonly turnCpuMs: number
  /** Null in memory, which has no driver below it. The same holds for the other raw figures. */
  readonly rawTurnMs: number | null
  readonly rate16: number
  readonly cpu16Ms: number
  readonly rawRate16: number | null
  /** The turns of one conversation that is this long, in an otherwise empty store. */
  readonly msAt: Readonly<Record<(typeof lengths)[number], number>>
  /** On disk after 500 turns. Null in memory. */
  readonly bytes: number | null
  /** Null where the raw rows are not measured: only a file has nothing else in it. */
  readonly rawBytes: number | null
}

const warmUpTurns = 15
const firstTurns = 40
const lanes = 16
const turnsPerLane = 20
const rateRounds = 3
const sizedTurns = 500
const lengths = [10, 100, 500] as const
/** A length stands for as many turns that end there. */
const turnsOfLength = 9
/** How many events each commit of a turn with a tool call has. */
const commitSizes = [1, 3, 1, 2]

type Place = {
  readonly store: Store
  /** A turn's rows as the four commits of a turn. */
  readonly rawTurn: ((id: number, seq: number, rows: readonly RawRow[]) => Promise<void>) | null
  /** Closes everything. */
  close(): Promise<void>
}

const [kind = '', where = ''] = process.argv.slice(2)
const samples = { memory: memorySample, sqlite: sqliteSample, postgres: postgresSample }
const sample = await samples[kind as keyof typeof samples](where)
process.stdout.write(JSON.stringify(sample))

async function memorySample(): Promise<YoungSample> {
  const open = (): Place => {
    const store = memoryStore()
    return { store, rawTurn: null, close: () => store.close() }
  }
  const times = await measure(open())
  const sized = open()
  const msAt = await grow(sized.store)
  await sized.close()
  return { ...times, msAt, bytes: null, rawBytes: null }
}

async function sqliteSample(folder: string): Promise<YoungSample> {
  const times = await measure(openSqlite(folder, 'times'))
  const sized = openSqlite(folder, 'size')
  const msAt = await grow(sized.store)
  for (let n = 0; n < sizedTurns; n++) {
    const rows = await rowsOfTurn(sized.store, 'sized', n)
    await sized.rawTurn?.(1, n * rows.length + 1, rows)
  }
  await sized.close()
  return { ...times, msAt, bytes: sizeOf(join(folder, 'size.db')), rawBytes: sizeOf(join(folder, 'size-raw.db')) }
}

async function postgresSample(url: string): Promise<YoungSample> {
  const raw = new RawPostgres(url, 10)
  const store = postgresStore({ connectionString: url })
  const times = await measure({
    store,
    rawTurn: (id, seq, rows) => inCommits(seq, rows, (at, some) => raw.appendAll(`${process.pid}-${id}`, at, some)),
    async close() {
      await store.close()
      await raw.close()
    },
  })
  const schema = `young_${process.pid}`
  const sized = postgresStore({ connectionString: url, schema })
  await sized.getConversation('none')
  const empty = await bytesOfSchema(url, schema)
  const msAt = await grow(sized)
  const bytes = (await bytesOfSchema(url, schema)) - empty
  await sized.close()
  return { ...times, msAt, bytes, rawBytes: null }
}

/** Tables with their indexes, as they are: nothing is vacuumed for it. */
async function bytesOfSchema(url: string, schema: string): Promise<number> {
  const client = new pg.Client(url)
  await client.connect()
  const { rows } = await client.query(
    `SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) AS bytes FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = $1 AND c.relkind = 'r'`,
    [schema],
  )
  await client.end()
  return Number(rows[0].bytes)
}

/** The times of the turns of one conversation, by its length. */
async function grow(store: Store): Promise<YoungSample['msAt']> {
  const runtime = runtimeOn(store)
  const times: number[] = []
  for (let n = 0; n < sizedTurns; n++) times.push(await milliseconds(() => oneTurn(runtime, 'sized')))
  await runtime.close()
  const at = (length: number): number => median(times.slice(length - turnsOfLength, length))
  return Object.fromEntries(lengths.map((length) => [length, at(length)])) as YoungSample['msAt']
}

/** Closing has moved the write-ahead log into the file. */
function sizeOf(path: string): number {
  if (existsSync(`${path}-wal`)) throw new Error(`${path} was not closed`)
  return statSync(path).size
}

async function measure(place: Place): Promise<Omit<YoungSample, 'msAt' | 'bytes' | 'rawBytes'>> {
  const { store, rawTurn } = place
  const runtime = runtimeOn(store)
  for (let n = 0; n < warmUpTurns; n++) await oneTurn(runtime, 'warm-up')
  const rows = await rowsOfTurn(store, 'warm-up', 0)
  for (let n = 0; n < warmUpTurns; n++) await rawTurn?.(0, 1 + n * rows.length, rows)
  const turnTimes: number[] = []
  const rawTimes: number[] = []
  let cpuMs = 0
  for (let n = 0; n < firstTurns; n++) {
    const before = process.cpuUsage()
    turnTimes.push(await milliseconds(() => oneTurn(runtime, `first-${process.pid}-${n}`)))
    cpuMs += since(before)
    if (rawTurn) rawTimes.push(await milliseconds(() => rawTurn(1 + n, 1, rows)))
  }
  const rates: number[] = []
  const rawRates: number[] = []
  let cpu16Ms = 0
  const count = lanes * turnsPerLane
  for (let round = 0; round < rateRounds; round++) {
    const before = process.cpuUsage()
    const idOf = (lane: number) => `lane-${process.pid}-${round}-${lane}`
    rates.push(await ratePerSecond(count, () => inLanes(lanes, turnsPerLane, (lane) => oneTurn(runtime, idOf(lane)))))
    cpu16Ms += since(before)
    if (!rawTurn) continue
    const rawId = (lane: number) => 1_000 + round * lanes + lane
    rawRates.push(
      await ratePerSecond(count, () =>
        inLanes(lanes, turnsPerLane, (lane, n) => rawTurn(rawId(lane), 1 + n * rows.length, rows)),
      ),
    )
  }
  await runtime.close()
  await place.close()
  return {
    turnMs: median(turnTimes),
    turnCpuMs: cpuMs / firstTurns,
    rawTurnMs: rawTurn && median(rawTimes),
    rate16: median(rates),
    cpu16Ms: cpu16Ms / (rateRounds * count),
    rawRate16: rawTurn && median(rawRates),
  }
}

function since(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

function openSqlite(folder: string, name: string): Place {
  const store = sqliteStore({ path: join(folder, `${name}.db`) })
  const raw = new RawSqlite(join(folder, `${name}-raw.db`))
  return {
    store,
    rawTurn: (id, seq, rows) => inCommits(seq, rows, async (at, some) => raw.appendAll(id, at, some)),
    async close() {
      await store.close()
      raw.close()
    },
  }
}

async function inCommits(
  seq: number,
  rows: readonly RawRow[],
  commit: (seq: number, rows: readonly RawRow[]) => Promise<void>,
): Promise<void> {
  let done = 0
  for (const size of commitSizes) {
    await commit(seq + done, rows.slice(done, done + size))
    done += size
  }
}

function runtimeOn(store: Store): Runtime {
  const look = defineTool({
    name: 'look',
    description: 'Look it up',
    input: z.object({ q: z.string() }),
    run: () => ({ found: 42 }),
  })
  const agent = defineAgent({ name: 'bench', model: instantModel(), tools: [look], context: { summarise: false } })
  return createRuntime({ agents: [agent], store })
}

async function oneTurn(runtime: Runtime, id: string): Promise<void> {
  const turn = await runtime.conversation(id, { agent: 'bench' }).send('What is the answer?')
  const outcome = await turn.outcome()
  if (outcome.status !== 'completed') throw new Error(`a turn ended ${JSON.stringify(outcome)}`)
}

/** What the engine wrote for a turn, the first being 0. */
async function rowsOfTurn(store: Store, id: string, turn: number): Promise<RawRow[]> {
  const size = commitSizes.reduce((sum, events) => sum + events, 0)
  const events = await store.streamEvents(id, { after: turn * size, limit: size, keep: 'oldest' })
  return events.map(({ type, content }) => ({ type, content: encode(content as never) }))
}
