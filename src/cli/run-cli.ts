import { CommandLineError } from '../base/errors/cli-errors.ts'
import { packageVersion } from '../base/errors/package-version.ts'
import { PerdureError } from '../base/errors/perdure-error.ts'
import { commonArgs } from './command.ts'
import { type CommandEntry, commandTable, loadCommand } from './command-table.ts'
import { exitCodeOf, exitCodes } from './exit-codes.ts'
import { commandHelp, generalHelp } from './help.ts'
import { Interrupted, interruptSignal } from './interrupt.ts'
import { createOutput, type Output } from './output.ts'
import { parseArguments } from './parse-arguments.ts'
import type { SafeText } from './terminal/safe-text.ts'

/** Runs one command line and ends the process with its code. */
export async function runCli(argv: readonly string[]): Promise<void> {
  hideExperimentalWarnings()
  endQuietlyWithReader()
  const options = { isJson: argv.includes('--json'), isVerbose: argv.includes('--verbose') }
  const output = createOutput(options)
  tellUncaught(output)
  // Watching and waiting are no reason for a process to stay; a command that is not done is.
  const stayAlive = setInterval(() => {}, 60_000)
  let code: number
  try {
    code = await runCommandLine(argv, output)
  } catch (error) {
    if (!(error instanceof Interrupted)) tellError(error, output)
    code = error instanceof Interrupted ? exitCodes.interrupted : exitCodeOf(error)
  }
  clearInterval(stayAlive)
  // What was written must be out before the process ends; open connections must not keep it.
  process.stdout.write('', () => process.stderr.write('', () => process.exit(code)))
}

async function runCommandLine(words: readonly string[], output: Output): Promise<number> {
  const argv = words[0] === 'help' ? [...words.slice(1), '--help'] : words
  const asksForHelp = optionsOf(argv).some((word) => word === '--help' || word === '-h')
  const [first] = argv
  if (first === undefined || (first.startsWith('-') && asksForHelp)) {
    tellHelp(generalHelp(output.colours), output)
    return exitCodes.ok
  }
  if (first === '--version' || first === '-v') {
    output.result({ version: packageVersion }, () => [packageVersion])
    return exitCodes.ok
  }
  const { entry, rest } = findCommand(argv)
  const command = await loadCommand(entry)
  if (asksForHelp) {
    tellHelp(commandHelp(entry, command, output.colours), output)
    return exitCodes.ok
  }
  const args = parseArguments(entry.name, { ...command.args, ...commonArgs }, rest)
  try {
    return await command.run({ args: args as never, output, interrupted: interruptSignal })
  } catch (error) {
    if (!(error instanceof CommandLineError) || error.command !== '') throw error
    throw new CommandLineError(error.problem, entry.name)
  }
}

function tellError(error: unknown, output: Output): void {
  output.error(error)
  const code = PerdureError.isInstance(error) ? error.code : null
  if (code !== 'unauthenticated' && code !== 'operator_only') return
  const name = code === 'operator_only' ? "PERDURE_OPERATOR_TOKEN to an operator's" : 'PERDURE_TOKEN'
  output.note(`Set ${name}, or pass --token-file of a server on this machine, with --url as it is in that file.`)
}

function tellHelp(text: SafeText, output: Output): void {
  output.result({ help: text.text }, () => [text])
}

/** The entry with the most words that the line begins with. */
function findCommand(argv: readonly string[]): { entry: CommandEntry; rest: readonly string[] } {
  const [first = '', second = ''] = argv
  if (first.startsWith('-')) throw new CommandLineError(`'${first}' comes before the command; options come after it`)
  const named = (name: string) => commandTable.find((entry) => entry.name === name)
  const pair = named(`${first} ${second}`)
  if (pair) return { entry: pair, rest: argv.slice(2) }
  const single = named(first)
  if (single) return { entry: single, rest: argv.slice(1) }
  throw new CommandLineError(`There is no command '${first}'${suggestion(first)}`)
}

function suggestion(word: string): string {
  const near = commandTable.map(({ name }) => name).filter((name) => name.startsWith(word.slice(0, 2)))
  return near.length > 0 ? `; there is ${near.map((name) => `'${name}'`).join(', ')}` : ''
}

function optionsOf(argv: readonly string[]): readonly string[] {
  const end = argv.indexOf('--')
  return end < 0 ? argv : argv.slice(0, end)
}

/** `node:sqlite` is announced as experimental on every start; all other warnings stay. */
function hideExperimentalWarnings(): void {
  process.removeAllListeners('warning')
  process.on('warning', (warning) => {
    if (warning.name !== 'ExperimentalWarning') console.error(`${warning.name}: ${warning.message}`)
  })
}

/** An error that nobody waited for, as in the code of a config, ends the process as others do: without a stack trace. */
function tellUncaught(output: Output): void {
  const end = (error: unknown): void => {
    output.error(error)
    process.exit(exitCodeOf(error))
  }
  process.on('uncaughtException', end)
  process.on('unhandledRejection', end)
}

/** `perdure list | head` is not an error; where all is needed, the command has set another code. */
function endQuietlyWithReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(process.exitCode ?? exitCodes.ok)
    throw error
  })
}
