import { mkdir, writeFile } from 'node:fs/promises'
import { availableParallelism, loadavg } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import type { StoreBench } from './store-bench.ts'
import { benchPostgres } from './stores-postgres.ts'
import { benchSqlite } from './stores-sqlite.ts'

const resultsFile = join(import.meta.dirname, 'results', 'stores.json')

/** Measures the durable stores and their raw drivers, prints a table and writes `results/stores.json`. */
export async function benchStores(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: { quick: { type: 'boolean', default: false }, only: { type: 'string' } },
  })
  const options = values.quick ? { rounds: 3, durationMs: 100 } : { rounds: 15, durationMs: 300 }
  const loadBefore = loadavg()[0]!
  const benches: StoreBench[] = []
  if (values.only !== 'postgres') benches.push(await benchSqlite(options))
  if (values.only !== 'sqlite') benches.push(await benchPostgres(options))
  // Before: other load. After: this run and other load.
  const load = { loadBefore: rounded(loadBefore), loadAfter: rounded(loadavg()[0]!) }
  const machine = { node: process.version, cpus: availableParallelism(), ...load }
  const ratios = Object.assign({}, ...benches.map(ratiosOf)) as Record<string, number>
  for (const bench of benches) print(bench)
  console.log(`\nnode ${machine.node}, ${machine.cpus} cores, load ${load.loadBefore} before, ${load.loadAfter} after`)
  if (values.quick || values.only) {
    console.log('A quick or partial run: the results were not written.')
    return
  }
  await mkdir(dirname(resultsFile), { recursive: true })
  await writeFile(resultsFile, `${JSON.stringify({ machine, options, ratios, benches }, null, 2)}\n`)
  console.log(`written to ${resultsFile}`)
}

/** Higher is better: appends and reads against raw. Lower is better: revival against its fastest, bytes, times. */
function ratiosOf({ name, appends, read, revivals, bytesPerEvent, rawBytesPerEvent }: StoreBench) {
  const ratios: Record<string, number> = {}
  for (const { what, lanes, ratio } of appends) ratios[`${name}_${what}_${lanes}_vs_raw`] = rounded(ratio)
  ratios[`${name}_read_1000_vs_raw`] = rounded(read.ratio)
  const times = revivals.map(({ ms }) => ms)
  ratios[`${name}_revival_slowest_vs_fastest`] = rounded(Math.max(...times) / Math.min(...times))
  ratios[`${name}_revival_100k_vs_1k`] = rounded(times.at(-1)! / times[0]!)
  ratios[`${name}_revival_ms`] = rounded(Math.max(...times))
  ratios[`${name}_bytes_per_event_vs_raw`] = rounded(bytesPerEvent / rawBytesPerEvent)
  return ratios
}

function print({ name, appends, read, revivals, bytesPerEvent, rawBytesPerEvent }: StoreBench): void {
  console.log(`\n${name}`)
  console.table(
    appends.map(({ what, lanes, rawPerSecond, perSecond, ratio, spread }) => ({
      what: what === 'append' ? 'appendEvent' : 'commit of an owner',
      conversations: lanes,
      'raw events/s': Math.round(rawPerSecond),
      'events/s': Math.round(perSecond),
      'x raw': rounded(ratio),
      'spread of x': rounded(spread),
    })),
  )
  console.table([
    {
      what: 'read 1,000 events',
      'raw ms': rounded(read.rawMs),
      ms: rounded(read.ms),
      'x raw': rounded(read.ratio),
      'spread of x': rounded(read.spread),
    },
  ])
  console.table(
    revivals.map(({ length, ms, firstMs, spread, rowsRead }) => ({
      'revival at': length,
      ms: rounded(ms),
      'first ms': rounded(firstMs),
      'spread of ms': rounded(spread),
      'rows read': rowsRead,
    })),
  )
  console.log(`bytes per event: ${Math.round(bytesPerEvent)}, raw ${Math.round(rawBytesPerEvent)}`)
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000
}
