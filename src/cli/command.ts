import type { ArgsDef, ParsedArgs } from 'citty'
import type { ExitCode } from './exit-codes.ts'
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
