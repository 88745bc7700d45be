import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { silentLogger } from '../../src/logger/logger.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { main } from '../cli/perdure.ts'
import { fillLog, fillStore } from './fill-store.ts'

/**
 * `npm run upkeep [-- <conversations>]`: fills a store by real turns, pipes `perdure export` into `perdure import`, has `perdure doctor` examine both, and tells
 * how long that took and what memory the processes had over time. Fails unless the copy is identical.
 */
const count = Number(process.argv[2] ?? 10_000)
const longLog = Number(process.argv[3] ?? 100_000)
const folder = mkdtempSync(join(tmpdir(), 'perdure-upkeep-'))
const source = join(folder, 'source.db')
const copy = join(folder, 'copy.db')

try {
  const store = sqliteStore({ path: source, logger: silentLogger })
  const filling = performance.now()
  await fillStore(store, count)
  await fillLog(store, 'long', longLog, 300)
  await store.close()
  const size = (statSync(source).size / 2 ** 20).toFixed(0)
  console.log(`filled: ${count} conversations and one of ${longLog} events, ${size} MiB, ${seconds(filling)}`)

  const piping = performance.now()
  const exporting = run(['export', '--store', source], 'pipe')
  const importing = run(['import', '--store', copy], 'inherit')
  exporting.child.stdout!.pipe(importing.child.stdin!)
  await Promise.all([exporting.ended, importing.ended])
  console.log(`export | import: ${seconds(piping)}`)
  console.log(`  export: ${exporting.memory()}`)
  console.log(`  import: ${importing.memory()}`)

  const digests: string[] = []
  for (const path of [source, copy]) {
    const examining = performance.now()
    const doctor = run(['doctor', '--json', '--store', path], 'pipe')
    let text = ''
    doctor.child.stdout!.setEncoding('utf8').on('data', (piece: string) => {
      text += piece
    })
    await doctor.ended
    const end = JSON.parse(text.trimEnd().split('\n').at(-1)!)
    digests.push(end.digest)
    console.log(
      `doctor: ${end.conversations} conversations, ${end.faults} faults, ${seconds(examining)}, ${doctor.memory()}`,
    )
    console.log(`  digest ${end.digest}`)
    if (end.faults > 0) throw new Error(`the doctor found faults in ${path}`)
  }
  if (digests[0] !== digests[1]) throw new Error('the copy differs from its source')
  console.log('identical')
} finally {
  rmSync(folder, { recursive: true })
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
