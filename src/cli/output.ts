import { CommandLineError } from '../base/errors/cli-errors.ts'
import { PerdureError } from '../base/errors/perdure-error.ts'
import type { LogDetails, Logger } from '../base/logger.ts'
import { exitCodeOf } from './command.ts'
import { type Colours, coloursOf, type Printable, safe, safeJson, safely, wantsColours } from './terminal/text.ts'

/** Where a command prints. Results go to stdout, everything else to stderr. Outside text is always escaped. */
export type Output = {
  readonly isJson: boolean
  readonly isVerbose: boolean
  /** For stdout. */
  readonly colours: Colours
  /** Whether stdin and stdout are a terminal, and the output is for people. */
  readonly isInteractive: boolean
  /** Columns of stdout; 0 when it is not a terminal. */
  readonly width: number
  /** Prints a command's one result: JSON with `--json`, else lines for people. */
  result(value: unknown, lines: () => readonly Printable[]): void
  /** Prints one of many results: a line of JSON with `--json`, else lines for people. */
  item(value: unknown, lines: () => readonly Printable[]): void
  /** Prints streamed text for people, without a line end. */
  write(text: Printable): void
  /** Prints a note for people to stderr, such as what to do next. */
  note(text: Printable): void
  /** Prints to stderr, as JSON with `--json`. The stack only with `--verbose`. */
  error(error: unknown): void
}

export type OutputStreams = { readonly stdout: NodeJS.WriteStream; readonly stderr: NodeJS.WriteStream }

export function createOutput(
  options: { readonly isJson: boolean; readonly isVerbose: boolean },
  { stdout, stderr }: OutputStreams = process,
  env: NodeJS.ProcessEnv = process.env,
): Output {
  const { isJson, isVerbose } = options
  const colours = coloursOf(wantsColours(stdout, env) && !isJson)
  const warning = coloursOf(wantsColours(stderr, env) && !isJson)
  const print = (lines: readonly Printable[]): void => {
    if (lines.length > 0) stdout.write(`${lines.map(safely).join('\n')}\n`)
  }
  return {
    isJson,
    isVerbose,
    colours,
    isInteractive: process.stdin.isTTY === true && stdout.isTTY === true && !isJson,
    width: stdout.isTTY ? stdout.columns : 0,
    result: (value, lines) => (isJson ? void stdout.write(`${safeJson(value, 2)}\n`) : print(lines())),
    item: (value, lines) => (isJson ? void stdout.write(`${safeJson(value)}\n`) : print(lines())),
    write: (text) => isJson || void stdout.write(safely(text)),
    note: (text) => isJson || void stderr.write(`${safely(text)}\n`),
    error(error) {
      if (isJson) stderr.write(`${safeJson({ error: problemOf(error, isVerbose) })}\n`)
      else stderr.write(`${safely(safe`${warning.red('error')} ${messageOf(error, isVerbose)}`)}\n`)
    },
  }
}

function problemOf(error: unknown, isVerbose: boolean): object {
  const code = PerdureError.isInstance(error) ? error.code : 'unexpected'
  const message = error instanceof Error ? error.message : String(error)
  return { code, message, exitCode: exitCodeOf(error), ...(isVerbose ? { stack: messageOf(error, true) } : {}) }
}

function messageOf(error: unknown, isVerbose: boolean): string {
  if (!(error instanceof Error)) return String(error)
  if (!isVerbose) return PerdureError.isInstance(error) ? error.message : `${error.message} (--verbose shows where)`
  const cause = error.cause === undefined ? '' : `\ncaused by: ${messageOf(error.cause, true)}`
  return `${error.stack ?? error.message}${cause}`
}

/** Prints warnings and errors on stderr; stack traces only with `--verbose`. */
export function terminalLogger({ isVerbose }: { readonly isVerbose: boolean }): Logger {
  const tell = (message: string, details: LogDetails = {}): void => {
    const { error } = details
    process.stderr.write(
      `${safely(`perdure: ${message}${error === undefined ? '' : `: ${told(error, isVerbose)}`}`)}\n`,
    )
  }
  return { debug: () => {}, info: () => {}, warn: tell, error: tell }
}

function told(error: unknown, isVerbose: boolean): string {
  if (!(error instanceof Error)) return String(error)
  return isVerbose ? (error.stack ?? error.message) : error.message
}

/** Turns a file error of `write` into a `CommandLineError` with advice. */
export async function unlessUnwritable<T>(path: string, advice: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write()
  } catch (error) {
    const why = reasons[(error as NodeJS.ErrnoException).code ?? '']
    if (why === undefined) throw error
    throw new CommandLineError(`'${path}' cannot be written, because ${why}; ${advice}`)
  }
}

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'you may not',
  EPERM: 'you may not',
  EROFS: 'its disk is read-only',
  ENOENT: 'its folder does not exist, or takes nothing new',
  ENOTDIR: 'a folder above it is a file',
  EEXIST: 'a folder of it is a file',
  EISDIR: 'it is a folder',
  ENOSPC: 'its disk is full',
}
