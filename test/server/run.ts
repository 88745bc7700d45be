import { exitCode, judge, type Verdict } from '../faults/harness/verdict.ts'
import { cuts } from './programs/cuts.ts'
import { fuzz } from './programs/fuzz.ts'
import { largeInPostgres, largeInSqlite } from './programs/memory/places.ts'
import { stalled } from './programs/stalled.ts'
import { watchers } from './programs/watchers.ts'

const large = {
  megabytes: 500,
  heapMb: 256,
  readers: 8,
  pages: 2,
  tell: (line: string) => console.error(line),
}
/** `npm run live -- cuts|fuzz|memory|memory-postgres|stalled|watchers|all [--seed N]`: what the server and its live streams endure, in full; one JSON line each. */
const programs = {
  cuts: (seed: number) => cuts({ seed, cuts: 500, deltas: 5_000, kills: 2 }),
  fuzz: (seed: number) => fuzz({ seed, requests: 20_000, mostStallMs: 100 }),
  memory: () => largeInSqlite(large),
  'memory-postgres': () => largeInPostgres(large),
  stalled: () => stalled({ clients: 200, bytes: 50 * 1024 * 1024, mostGrowthMb: 64, mostP99Ms: 50 }),
  watchers: () => watchers({ count: 500, deltas: 500 }),
}

const [name = '', ...rest] = process.argv.slice(2)
const seed = Number(rest[rest.indexOf('--seed') + 1] ?? 1) || 1
const names = name === 'all' ? Object.keys(programs) : [name]
for (const wanted of names) {
  const find = programs[wanted as keyof typeof programs]
  if (!find) throw new Error(`There is no program '${wanted}'. Choose one of: ${Object.keys(programs).join(', ')}, all`)
  const verdict: Verdict = await judge(
    { program: wanted, store: wanted.endsWith('postgres') ? 'postgres' : 'sqlite', seed },
    [{ name: wanted, find: () => find(seed) }],
  )
  console.log(JSON.stringify(verdict))
  process.exitCode ||= exitCode(verdict)
}
