import type { ArgsDef, ParsedArgs } from 'citty'
import { CommandLineError } from '../base/errors/cli-errors.ts'
import { type ErrorCode, type ErrorFamily, errorCodes } from '../base/errors/codes.ts'
import { PerdureError } from '../base/errors/perdure-error.ts'
import type { Output } from './output.ts'

/** One command of `perdure`. */
export type Command<T extends ArgsDef = ArgsDef> = {
  /** Positional ones in their order; every command also has those of `commonArgs`. */
  readonly args: T
  /** Command lines without the leading `perdure`, each with what it does. At least one. */
  readonly examples: readonly (readonly [line: string, what: string])[]
  /** More for `--help`, as whole sentences. */
  readonly about?: string
  /** What it throws is told as an error, with the exit code of its family. */
  run(context: CommandContext<T>): Promise<ExitCode>
}

export type CommandContext<T extends ArgsDef = ArgsDef> = {
  readonly args: ParsedArgs<T>
  readonly output: Output
  /** From now on the first Ctrl-C or SIGTERM aborts this instead of ending the process; a second one ends it at once. */
  interrupted(): AbortSignal
}

export const commonArgs = {
  json: { type: 'boolean', description: 'One JSON document instead of text for people; streams give a line each' },
  verbose: { type: 'boolean', description: 'Show stack traces and causes of errors' },
} as const satisfies ArgsDef

/** For inference only. */
export function command<const T extends ArgsDef>(definition: Command<T>): Command<T> {
  return definition
}

/** What scripts can rely on; documented in `docs/cli.md`. */
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

/** Nothing is wrong with how these were asked for. */
const exceptions: Partial<Record<ErrorCode, ExitCode>> = {
  rate_limited: exitCodes.unreachable,
  runtime_closed: exitCodes.unreachable,
  event_invalid: exitCodes.failed,
  event_unknown: exitCodes.failed,
  server_failed: exitCodes.failed,
}

/** An option that is a whole number; undefined when it was not given. */
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

/** Somebody ended it with Ctrl-C: nothing is wrong, and nothing is to be told. */
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
