import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { silentLogger } from '../../src/base/logger.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { main } from '../cli/perdure.ts'
import { freshDatabase } from '../setup/fresh-database.ts'
import { startPostgres } from '../setup/start-postgres.ts'
import { fillLog, fillStore } from './fill-store.ts'
import { type ServedStore, serveStore } from './serve-store.ts'

/**
 * `npm run upkeep [-- <conversations> <events of the longest> --postgres --url]`: fills a store by real turns, pipes `perdure export` into `perdure import`, has `perdure doctor` examine both, and
 * tells how long that took and what memory the processes had over time; with `--postgres` by way of one, with `--url` each store served by a `perdure serve`. Fails unless every copy is identical.
 */
const [count = 10_000, longLog = 100_000] = process.argv
  .slice(2)
  .filter((word) => /^\d+$/.test(word))
  .map(Number)
const folder = mkdtempSync(join(tmpdir(), 'perdure-upkeep-'))
const source = join(folder, 'source.db')
const copy = join(folder, 'copy.db')
const overPostgres = process.argv.includes('--postgres')
const overServers = process.argv.includes('--url')
const servers: { readonly name: string; readonly served: ServedStore; memory(): string }[] = []
let server: Awaited<ReturnType<typeof startPostgres>> | null = null

try {
  const store = sqliteStore({ path: source, logger: silentLogger })
  const filling = performance.now()
  await fillStore(store, count)
  await fillLog(store, 'long', longLog, 300)
  await store.close()
  const size = (statSync(source).size / 2 ** 20).toFixed(0)
  console.log(`filled: ${count} conversations and one of ${longLog} events, ${size} MiB, ${seconds(filling)}`)

  server = overPostgres ? await startPostgres() : null
  const places = [source, ...(server ? [await freshDatabase(server.url)] : []), copy]
  const ways: (readonly string[])[] = []
  for (const place of places) ways.push(overServers ? await servedAt(place) : ['--store', place])
  for (const [index, from] of ways.slice(0, -1).entries()) await copied(from, ways[index + 1]!)
  const digests: string[] = []
  for (const way of ways) digests.push(await examined(way))
  if (new Set(digests).size > 1) throw new Error('a copy differs from its source')
  console.log('identical')
  for (const { name, memory } of servers) console.log(`server of ${name}: ${memory()}`)
} finally {
  for (const { served } of servers) await served.kill()
  await server?.destroy()
  rmSync(folder, { recursive: true })
}

/** Starts a server of the store, and returns the way there. */
async function servedAt(place: string): Promise<readonly string[]> {
  const served = await serveStore(join(folder, `server-${servers.length}`), place)
  const samples = sampled(served.running.process)
  servers.push({ name: place.replace(folder, ''), served, memory: () => told(samples) })
  return served.ways.server
}

async function copied(from: readonly string[], to: readonly string[]): Promise<void> {
  const since = performance.now()
  const exporting = run(['export', ...from], 'pipe')
  const importing = run(['import', ...to], 'inherit')
  exporting.child.stdout!.pipe(importing.child.stdin!)
  await Promise.all([exporting.ended, importing.ended])
  console.log(`export | import: ${seconds(since)}`)
  console.log(`  export: ${exporting.memory()}`)
  console.log(`  import: ${importing.memory()}`)
}

/** Returns the digest. */
async function examined(way: readonly string[]): Promise<string> {
  const since = performance.now()
  const doctor = run(['doctor', '--json', ...way], 'pipe')
  let text = ''
  doctor.child.stdout!.setEncoding('utf8').on('data', (piece: string) => {
    text += piece
  })
  await doctor.ended
  const end = JSON.parse(text.trimEnd().split('\n').at(-1)!)
  console.log(`doctor: ${end.conversations} conversations, ${end.faults} faults, ${seconds(since)}, ${doctor.memory()}`)
  console.log(`  digest ${end.digest}`)
  return end.digest
}

function run(args: readonly string[], stdout: 'pipe' | 'inherit') {
  const child = spawn(process.execPath, [main, ...args], { stdio: ['pipe', stdout, 'inherit'] })
  const samples = sampled(child)
  const ended = new Promise<void>((resolve, reject) => {
    child.on('close', (code) => {
      if (code === 0) resolve()
      else reject(new Error(`perdure ${args[0]} ended with ${code}`))
    })
  })
  return { child, ended, memory: () => told(samples) }
}

/** What a process has of memory, again and again until it ends. */
function sampled(child: ChildProcess): readonly number[] {
  const samples: number[] = []
  const timer = setInterval(() => {
    const rss = residentMiB(child.pid!)
    if (rss !== null) samples.push(rss)
  }, 100)
  child.on('close', () => clearInterval(timer))
  return samples
}

/** Null when the process has ended, or the system does not tell. */
function residentMiB(pid: number): number | null {
  try {
    const found = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))
    return found ? Math.round(Number(found[1]) / 1024) : null
  } catch {
    return null
  }
}

function told(samples: readonly number[]): string {
  if (samples.length === 0) return 'resident memory unknown'
  const at = (share: number): number => samples[Math.min(samples.length - 1, Math.floor(samples.length * share))]!
  const over = [0.1, 0.25, 0.5, 0.75, 0.9].map((share) => `${at(share)}`).join(' ')
  return `resident MiB over time: ${over}, most ${Math.max(...samples)}`
}

function seconds(since: number): string {
  return `${((performance.now() - since) / 1000).toFixed(1)} s`
}
