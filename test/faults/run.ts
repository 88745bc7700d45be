import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

/**
 * `npm run faults -- <name|all> [--full] [--store sqlite|postgres] [--seed N] [--rounds N] [--minutes N]`: each program in a process of its own, one JSON line each.
 * Without `--full` the programs run in a short form.
 */
const programs = {
  atomicity: { stores: ['sqlite', 'postgres'], shortRounds: 20 },
  durability: { stores: ['sqlite', 'postgres'], shortRounds: 2 },
  race: { stores: ['sqlite', 'postgres'], shortRounds: 200 },
  'double-approval': { stores: ['sqlite', 'postgres'], shortRounds: 100 },
  'crash-matrix': { stores: ['sqlite', 'postgres'], shortRounds: 18 },
  'child-crashes': { stores: ['sqlite', 'postgres'], shortRounds: 24 },
  'flow-kills': { stores: ['sqlite', 'postgres'], shortRounds: 16 },
  provider: { stores: ['sqlite', 'postgres'], shortRounds: 104 },
  'mcp-kills': { stores: ['sqlite'], shortRounds: 6 },
  'mcp-hostile': { stores: ['sqlite'], shortRounds: 2 },
  subscribers: { stores: ['sqlite', 'postgres'], shortRounds: 600 },
  'lost-acknowledgement': { stores: ['postgres'], shortRounds: 10 },
  fleet: { stores: ['postgres'], fullMinutes: 10 },
} as const satisfies Record<string, Program>

/** `shortRounds`: where the short form is a number of rounds; `fullMinutes`: where the long form is a time. */
type Program = { readonly stores: readonly string[]; readonly shortRounds?: number; readonly fullMinutes?: number }

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    full: { type: 'boolean', default: false },
    store: { type: 'string' },
    seed: { type: 'string', default: '1' },
    rounds: { type: 'string' },
    minutes: { type: 'string' },
  },
})

const names = namesOf(positionals[0] ?? 'all')
const codes: number[] = []
for (const name of names) {
  for (const store of programs[name].stores) {
    if (values.store === undefined || values.store === store) codes.push(await run(name, store))
  }
}
// A violation says more than a part that could not be run.
process.exitCode = codes.find((code) => code !== 0 && code !== 77) ?? Math.max(0, ...codes)

async function run(name: keyof typeof programs, store: string): Promise<number> {
  const file = fileURLToPath(new URL(`./${name}.ts`, import.meta.url))
  const { shortRounds, fullMinutes }: Program = programs[name]
  const given = {
    ...{ store, seed: values.seed },
    rounds: values.rounds ?? (values.full ? undefined : shortRounds?.toString()),
    minutes: values.minutes ?? (values.full ? fullMinutes?.toString() : undefined),
  }
  const options = Object.entries(given).flatMap(([option, value]) =>
    value === undefined ? [] : [`--${option}`, value],
  )
  const args = [file, ...options]
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ...args], { stdio: 'inherit' })
  const [code] = (await once(child, 'exit')) as [number | null]
  return code ?? 1
}

function namesOf(wanted: string): (keyof typeof programs)[] {
  const all = Object.keys(programs) as (keyof typeof programs)[]
  const names = wanted === 'all' ? all : all.filter((name) => name === wanted)
  if (names.length === 0) throw new Error(`There is no fault program '${wanted}'. There are: ${all.join(', ')}, all.`)
  return names
}
