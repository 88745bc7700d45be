import { parseArgs } from 'node:util'
import type { StoreName } from './target.ts'
import { exitCode, type Verdict } from './verdict.ts'

export type CommandOptions = {
  readonly store: StoreName
  readonly seed: number
  /** Undefined: the program's own number. */
  readonly rounds?: number
  /** For the programs that run for a time. Undefined: the program's own. */
  readonly minutes?: number
  /** Everything there is, however long it takes; for the programs that know a shorter form. */
  readonly full?: boolean
}

/** Runs a fault program when its file is the command: one JSON line on standard output, everything else on standard error. */
export async function runCommand(
  file: ImportMeta,
  program: (options: CommandOptions) => Promise<Verdict>,
): Promise<void> {
  if (!file.main) return
  const verdict = await program(commandOptions())
  process.stdout.write(`${JSON.stringify(verdict)}\n`)
  process.exitCode = exitCode(verdict)
}

export function progress(text: string): void {
  process.stderr.write(`${text}\n`)
}

function commandOptions(): CommandOptions {
  const { values } = parseArgs({
    options: {
      store: { type: 'string' },
      seed: { type: 'string' },
      rounds: { type: 'string' },
      minutes: { type: 'string' },
      full: { type: 'boolean' },
    },
  })
  const store = values.store ?? 'sqlite'
  if (store !== 'sqlite' && store !== 'postgres') throw new Error(`--store is sqlite or postgres, not ${store}`)
  const rounds = values.rounds === undefined ? {} : { rounds: wholeNumber('--rounds', values.rounds) }
  const minutes = values.minutes === undefined ? {} : { minutes: Number(values.minutes) }
  const full = values.full ? { full: true } : {}
  return { store, seed: wholeNumber('--seed', values.seed ?? '1'), ...rounds, ...minutes, ...full }
}

function wholeNumber(name: string, text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value) || value < 1) throw new Error(`${name} must be a whole number of at least 1`)
  return value
}
