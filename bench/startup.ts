import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { median } from './measure.ts'

/**
 * The limits: what importing `perdure` and `perdure/sqlite` may add to an empty process, and how long the first turn
 * may take.
 */
const importLimitMs = 50
const turnLimitMs = 20

type Sample = { readonly wallMs: number; readonly cpuMs: number }

/**
 * How long the built package takes to import, compared with an empty process, and then to answer a first message from a
 * new SQLite file. Each sample is its own process. `npm run build` must have run.
 */
export async function benchStartup(args: readonly string[]): Promise<void> {
  const rounds = args.includes('--quick') ? 5 : 20
  const samples: Record<Program, Sample[]> = { empty: [], imports: [], 'first-turn': [] }
  const directory = mkdtempSync(join(tmpdir(), 'perdure-startup-'))
  try {
    for (let round = 0; round <= rounds; round++) {
      for (const program of programs) {
        const sample = run(program, join(directory, `${round}.db`))
        // The first round loads the files into memory.
        if (round > 0) samples[program].push(sample)
      }
    }
  } finally {
    rmSync(directory, { recursive: true })
  }
  const figures = figuresOf(samples)
  for (const [what, figure] of Object.entries(figures))
    console.log(`  ${what.padEnd(24)} ${figure.toFixed(2).padStart(10)}`)
  console.log(JSON.stringify({ figures, load: loadavg()[0] }))
  if (figures['import_ms']! > importLimitMs || figures['first_turn_ms']! > turnLimitMs) {
    console.error(`Importing may take ${importLimitMs} ms, and the first turn ${turnLimitMs}.`)
    process.exitCode = 1
  }
  if (args.includes('--quick')) return
  mkdirSync(new URL('results', import.meta.url), { recursive: true })
  writeFileSync(new URL('results/startup.json', import.meta.url), `${JSON.stringify({ figures }, null, 2)}\n`)
}

const programs = ['empty', 'imports', 'first-turn'] as const
type Program = (typeof programs)[number]

/** The time of a turn is measured in its process; that of an import is the time of the whole process. */
function run(program: Program, database: string): Sample {
  const file = fileURLToPath(new URL(`startup/${program}.js`, import.meta.url))
  const startedAt = performance.now()
  const { status, stdout, stderr } = spawnSync(process.execPath, [file, database], { encoding: 'utf8' })
  const wallMs = performance.now() - startedAt
  if (status !== 0) throw new Error(`${program} failed. Was the package built?\n${stderr}`)
  return { wallMs, ...(JSON.parse(stdout) as Partial<Sample> & Pick<Sample, 'cpuMs'>) }
}

/** The cpu figures are processor time. On a busy machine the others say little. */
function figuresOf(samples: Readonly<Record<Program, readonly Sample[]>>): Record<string, number> {
  const middle = (program: Program, what: keyof Sample) => median(samples[program].map((sample) => sample[what]))
  const empty = middle('empty', 'wallMs')
  const emptyCpu = middle('empty', 'cpuMs')
  return {
    empty_ms: empty,
    import_ms: middle('imports', 'wallMs') - empty,
    import_ratio: middle('imports', 'wallMs') / empty,
    first_turn_ms: middle('first-turn', 'wallMs'),
    first_turn_ratio: middle('first-turn', 'wallMs') / empty,
    empty_cpu_ms: emptyCpu,
    import_cpu_ms: middle('imports', 'cpuMs') - emptyCpu,
    import_cpu_ratio: middle('imports', 'cpuMs') / emptyCpu,
    first_turn_cpu_ms: middle('first-turn', 'cpuMs'),
    first_turn_cpu_ratio: middle('first-turn', 'cpuMs') / emptyCpu,
  }
}
