import type { ArgsDef, ParsedArgs } from 'citty'
import { CommandLineError } from '../base/errors/cli-errors.ts'
import { type ErrorCode, type ErrorFamily, errorCodes } from '../base/errors/codes.ts'
import { PerdureError } from '../base/errors/perdure-error.ts'
import type { Output } from './output.ts'

/** One command of `perdure`. */
export type Command<T extends ArgsDef = ArgsDef> = {
  /** Positional arguments in their order. Every command also has `commonArgs`. */
  readonly args: T
  /** Command lines without the leading `perdure`, each with what it does. At least one. */
  readonly examples: readonly (readonly [line: string, what: string])[]
  /** Whole sentences for `--help`. */
  readonly about?: string
  /** An error that it throws is printed, and decides the exit code. */
  run(context: CommandContext<T>): Promise<ExitCode>
}

export type CommandContext<T extends ArgsDef = ArgsDef> = {
  readonly args: ParsedArgs<T>
  readonly output: Output
  /** After this call the first Ctrl-C or SIGTERM aborts the signal instead of ending the process; a second one ends it at once. */
  interrupted(): AbortSignal
}

export const commonArgs = {
  json: { type: 'boolean', description: 'Print one JSON document instead of text; streams print one per line' },
  verbose: { type: 'boolean', description: 'Print stack traces and causes of errors' },
} as const satisfies ArgsDef

/** For inference only. */
export function command<const T extends ArgsDef>(definition: Command<T>): Command<T> {
  return definition
}

/** Documented in `docs/cli.md`; scripts rely on them. */
export const exitCodes = {
  ok: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  conflict: 4,
  unreachable: 5,
  interrupted: 130,
} as const

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

export function exitCodeOf(error: unknown): ExitCode {
  if (!PerdureError.isInstance(error) || !(error.code in errorCodes)) return exitCodes.failed
  return exceptions[error.code] ?? byFamily[errorCodes[error.code].family]
}

const byFamily: Readonly<Record<ErrorFamily, ExitCode>> = {
  usage: exitCodes.usage,
  not_found: exitCodes.notFound,
  conflict: exitCodes.conflict,
  determinism: exitCodes.conflict,
  model: exitCodes.failed,
  tool: exitCodes.failed,
  store: exitCodes.unreachable,
}

/** Errors of the family `usage` and others whose cause is not the command line. */
const exceptions: Partial<Record<ErrorCode, ExitCode>> = {
  rate_limited: exitCodes.unreachable,
  runtime_closed: exitCodes.unreachable,
  event_invalid: exitCodes.failed,
  event_unknown: exitCodes.failed,
  server_failed: exitCodes.failed,
}

/** The value of an option that takes a whole number; undefined without the option. */
export function countOf(
  name: string,
  given: string | undefined,
  least = 1,
  most = Number.MAX_SAFE_INTEGER,
): number | undefined {
  if (given === undefined) return undefined
  const count = Number(given)
  if (/^\d+$/.test(given) && count >= least && count <= most) return count
  const range = most === Number.MAX_SAFE_INTEGER ? `from ${least} on` : `from ${least} to ${most}`
  throw new CommandLineError(`--${name} is '${given}', and must be a whole number ${range}`)
}

/** `1 fault`, `2 faults`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** Ctrl-C ended the command. It is not reported as an error. */
export class Interrupted extends Error {}

let controller: AbortController | null = null

/** Aborted by the first Ctrl-C or SIGTERM; a second ends the process at once. */
export function interruptSignal(): AbortSignal {
  if (controller) return controller.signal
  const asked = new AbortController()
  controller = asked
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (asked.signal.aborted) process.exit(exitCodes.interrupted)
      asked.abort(signal)
    })
  }
  return asked.signal
}
