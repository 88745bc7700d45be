import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startPostgres } from '../test/setup/start-postgres.ts'
import { median } from './measure.ts'
import { RawPostgres } from './raw-postgres.ts'
import type { YoungSample } from './young-child.ts'

/**
 * A process that has just started, and a file that is small: the first turn of a new conversation after 15 turns, 16 conversations at once, and one conversation
 * of 500 turns, its turns and its bytes, each beside the raw driver. Every sample is a process of its own that runs the sources, and the stores take turns.
 */
export async function benchYoung(args: readonly string[]): Promise<void> {
  const isQuick = args.includes('--quick')
  const only = args.includes('--only') ? args[args.indexOf('--only') + 1] : undefined
  const rounds = isQuick ? 3 : 9
  console.log(`load of the machine at the start: ${loadavg()[0]!.toFixed(1)} on ${availableParallelism()} processors`)
  const samples: Record<string, YoungSample[]> = {}
  const isWanted = (store: string): boolean => only === undefined || only === store
  const server = isWanted('postgres') ? await startPostgres() : null
  const folder = mkdtempSync(join(tmpdir(), 'perdure-young-'))
  try {
    if (server) {
      const raw = new RawPostgres(server.url, 1)
      await raw.createTable()
      await raw.close()
    }
    for (let round = 0; round < rounds; round++) {
      if (isWanted('memory')) (samples['memory'] ??= []).push(await run('memory', '-'))
      if (isWanted('sqlite')) (samples['sqlite'] ??= []).push(await run('sqlite', mkdtempSync(join(folder, 'round-'))))
      if (server) (samples['postgres'] ??= []).push(await run('postgres', server.url))
    }
  } finally {
    rmSync(folder, { recursive: true })
    await server?.destroy()
  }
  const figures: Record<string, number> = {}
  for (const [store, of] of Object.entries(samples)) Object.assign(figures, report(store, of))
  console.log(JSON.stringify({ figures }))
  if (isQuick) return
  mkdirSync(new URL('results', import.meta.url), { recursive: true })
  writeFileSync(new URL('results/young.json', import.meta.url), `${JSON.stringify({ figures }, null, 2)}\n`)
}

async function run(store: string, where: string): Promise<YoungSample> {
  const child = fileURLToPath(new URL('young-child.ts', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--disable-warning=ExperimentalWarning',
    child,
    store,
    where,
  ])
  return JSON.parse(stdout) as YoungSample
}

function report(store: string, samples: readonly YoungSample[]): Record<string, number> {
  const middle = (of: (sample: YoungSample) => number | null): number | null => {
    const values = samples.map(of).filter((value) => value !== null)
    return values.length < samples.length ? null : median(values)
  }
  const measured: Record<string, number | null> = {
    turn_ms: middle(({ turnMs }) => turnMs),
    turn_ms_at_10: middle(({ msAt }) => msAt[10]),
    turn_ms_at_100: middle(({ msAt }) => msAt[100]),
    turn_ms_at_500: middle(({ msAt }) => msAt[500]),
    raw_turn_ms: middle(({ rawTurnMs }) => rawTurnMs),
    turn_vs_raw: middle(({ turnMs, rawTurnMs }) => rawTurnMs && turnMs / rawTurnMs),
    turn_cpu_ms: middle(({ turnCpuMs }) => turnCpuMs),
    turns_per_s_of_16: middle(({ rate16 }) => rate16),
    raw_turns_per_s_of_16: middle(({ rawRate16 }) => rawRate16),
    rate_of_16_vs_raw: middle(({ rate16, rawRate16 }) => rawRate16 && rate16 / rawRate16),
    turn_of_16_cpu_ms: middle(({ cpu16Ms }) => cpu16Ms),
    megabytes_of_500_turns: middle(({ bytes }) => bytes && bytes / 1e6),
    raw_megabytes: middle(({ rawBytes }) => rawBytes && rawBytes / 1e6),
    bytes_vs_raw: middle(({ bytes, rawBytes }) => bytes && rawBytes && bytes / rawBytes),
  }
  const figures = Object.entries(measured).filter((entry): entry is [string, number] => entry[1] !== null)
  console.log(`\n${store}: a young process, median of ${samples.length}`)
  for (const [what, figure] of figures) console.log(`  ${what.padEnd(24)} ${figure.toFixed(2).padStart(10)}`)
  return Object.fromEntries(figures.map(([what, figure]) => [`${store}.${what}`, figure]))
}
