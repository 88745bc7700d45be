import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { silentLogger } from '../../src/logger/logger.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { main } from '../cli/perdure.ts'
import { freshDatabase } from '../setup/fresh-database.ts'
import { startPostgres } from '../setup/start-postgres.ts'
import { fillLog, fillStore } from './fill-store.ts'

/**
 * `npm run upkeep [-- <conversations> <events of the longest> --postgres]`: fills a store by real turns, pipes `perdure export` into `perdure import`, has `perdure doctor` examine both, and tells
 * how long that took and what memory the processes had over time; with `--postgres` by way of one. Fails unless every copy is identical.
 */
const [count = 10_000, longLog = 100_000] = process.argv
  .slice(2)
  .filter((word) => /^\d+$/.test(word))
  .map(Number)
const folder = mkdtempSync(join(tmpdir(), 'perdure-upkeep-'))
const source = join(folder, 'source.db')
const copy = join(folder, 'copy.db')
const overPostgres = process.argv.includes('--postgres')
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
  for (const [index, from] of places.slice(0, -1).entries()) await copied(from, places[index + 1]!)
  const digests: string[] = []
  for (const place of places) digests.push(await examined(place))
  if (new Set(digests).size > 1) throw new Error('a copy differs from its source')
  console.log('identical')
} finally {
  await server?.destroy()
  rmSync(folder, { recursive: true })
}

async function copied(from: string, to: string): Promise<void> {
  const since = performance.now()
  const exporting = run(['export', '--store', from], 'pipe')
  const importing = run(['import', '--store', to], 'inherit')
  exporting.child.stdout!.pipe(importing.child.stdin!)
  await Promise.all([exporting.ended, importing.ended])
  console.log(`export | import: ${seconds(since)}`)
  console.log(`  export: ${exporting.memory()}`)
  console.log(`  import: ${importing.memory()}`)
}

/** Returns the digest. */
async function examined(store: string): Promise<string> {
  const since = performance.now()
  const doctor = run(['doctor', '--json', '--store', store], 'pipe')
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
  const samples: number[] = []
  const timer = setInterval(() => {
    const rss = residentMiB(child.pid!)
    if (rss !== null) samples.push(rss)
  }, 100)
  const ended = new Promise<void>((resolve, reject) => {
    child.on('close', (code) => {
      clearInterval(timer)
      if (code === 0) resolve()
      else reject(new Error(`perdure ${args[0]} ended with ${code}`))
    })
  })
  return { child, ended, memory: () => told(samples) }
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
