import { parseArgs as parseStrictly } from 'node:util'
import { type ArgsDef, type ParsedArgs, parseArgs } from 'citty'
import { CommandLineError } from '../base/errors/cli-errors.ts'
import { PerdureError, packageVersion } from '../base/errors/perdure-error.ts'
import { type Command, commonArgs, exitCodeOf, exitCodes, Interrupted, interruptSignal } from './command.ts'
import { type CommandEntry, commandTable, loadCommand } from './command-table.ts'
import { createOutput, type Output } from './output.ts'
import { type Colours, joined, type Printable, type SafeText, safe } from './terminal/text.ts'

/** Runs one command line, then ends the process with its exit code. */
export async function runCli(argv: readonly string[]): Promise<void> {
  hideExperimentalWarnings()
  endQuietlyWithReader()
  const options = { isJson: argv.includes('--json'), isVerbose: argv.includes('--verbose') }
  const output = createOutput(options)
  tellUncaught(output)
  // Watching and waiting do not keep a process alive; an unfinished command must.
  const stayAlive = setInterval(() => {}, 60_000)
  let code: number
  try {
    code = await runCommandLine(argv, output)
  } catch (error) {
    if (!(error instanceof Interrupted)) tellError(error, output)
    code = error instanceof Interrupted ? exitCodes.interrupted : exitCodeOf(error)
  }
  clearInterval(stayAlive)
  // The output must be written before the process ends; open connections must not keep it alive.
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
  if (code === 'force_needed') output.note('On the command line that is the option --force.')
  if (code !== 'unauthenticated' && code !== 'operator_only') return
  const name = code === 'operator_only' ? "PERDURE_OPERATOR_TOKEN to an operator's" : 'PERDURE_TOKEN'
  output.note(`Set ${name}, or pass --token-file of a server on this machine, with --url as it is in that file.`)
}

function tellHelp(text: SafeText, output: Output): void {
  output.result({ help: text.text }, () => [text])
}

/** The longest command name that the line begins with. */
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

/** The commands nearest to a word that is none: at most a third of its letters are wrong, or it begins them. */
function suggestion(word: string): string {
  const distances = commandTable.map(({ name }) => ({ name, distance: distanceOf(word, name) }))
  const least = Math.min(...distances.map(({ distance }) => distance))
  const isNear = ({ name, distance }: { name: string; distance: number }): boolean =>
    (distance === least && distance <= Math.max(2, word.length / 3)) || (word.length > 1 && name.startsWith(word))
  const near = distances.filter(isNear).map(({ name }) => `'${name}'`)
  return near.length > 0 ? `; the nearest is ${near.join(' or ')}` : ''
}

/** How many letters must be added, removed, changed or swapped with their neighbour to make one word the other. */
function distanceOf(one: string, other: string): number {
  const rows = [Array.from({ length: other.length + 1 }, (_, column) => column)]
  for (let row = 1; row <= one.length; row++) {
    const line = [row]
    for (let column = 1; column <= other.length; column++) {
      const isSame = one[row - 1] === other[column - 1]
      const isSwapped = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1]
      line[column] = Math.min(
        line[column - 1]! + 1,
        rows[row - 1]![column]! + 1,
        rows[row - 1]![column - 1]! + (isSame ? 0 : 1),
        isSwapped ? rows[row - 2]![column - 2]! + 1 : Number.POSITIVE_INFINITY,
      )
    }
    rows.push(line)
  }
  return rows.at(-1)!.at(-1)!
}

function optionsOf(argv: readonly string[]): readonly string[] {
  const end = argv.indexOf('--')
  return end < 0 ? argv : argv.slice(0, end)
}

/** Hides the warning that `node:sqlite` is experimental. All others stay. */
function hideExperimentalWarnings(): void {
  process.removeAllListeners('warning')
  process.on('warning', (warning) => {
    if (warning.name !== 'ExperimentalWarning') console.error(`${warning.name}: ${warning.message}`)
  })
}

/** An error outside the command, such as one in a config's timer, ends the process like any other: without a stack trace. */
function tellUncaught(output: Output): void {
  const end = (error: unknown): void => {
    output.error(error)
    process.exit(exitCodeOf(error))
  }
  process.on('uncaughtException', end)
  process.on('unhandledRejection', end)
}

/** `perdure list | head` is not an error. A command whose output must be complete sets another exit code first. */
function endQuietlyWithReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(process.exitCode ?? exitCodes.ok)
    throw error
  })
}

/** Parses the words after a command. Throws `CommandLineError` for every word that the definition does not know. */
export function parseArguments<T extends ArgsDef>(
  command: string,
  definition: T,
  words: readonly string[],
): ParsedArgs<T> {
  const named = Object.entries(definition).filter(([, { type }]) => type !== 'positional')
  const places = Object.keys(definition).length - named.length
  const options = Object.fromEntries(
    named.map(([name, { type }]) => [name, { type: type === 'boolean' ? ('boolean' as const) : ('string' as const) }]),
  )
  try {
    // citty accepts unknown options, missing values and surplus words.
    const { positionals, values } = parseStrictly({
      args: [...words],
      options,
      allowPositionals: true,
      allowNegative: true,
    })
    // Such as an unset variable: the command must not fall back to its default.
    const empty = Object.keys(values).find((name) => values[name] === '')
    if (empty !== undefined) throw new Error(`--${empty} is empty`)
    if (positionals.length > places) throw new Error(`'${positionals[places]}' is one word too many`)
    const missing = Object.entries(definition)
      .filter(([, { type }]) => type === 'positional')
      .slice(positionals.length)
      .find(([, { required }]) => required !== false)
    if (missing) throw new Error(`<${missing[0]}> is missing`)
    for (const [name, { type, ...rest }] of named) {
      const [given, options] = [values[name], type === 'enum' && 'options' in rest ? rest.options : undefined]
      if (options && typeof given === 'string' && !options.includes(given))
        throw new Error(`--${name} is '${given}'; use one of: ${options.join(', ')}`)
    }
    return parseArgs<T>([...words], definition)
  } catch (error) {
    throw new CommandLineError(sentence(error), command)
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the library colours its messages
const colours = /\u001b\[\d+m/g

/** The parser's message, in the words of the other messages and without its advice. */
function sentence(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return message
    .replaceAll(colours, '')
    .split(/\.\s|\n/)[0]!
    .replace(/\.$/, '')
    .replace(/^Option '(--[\w-]+)[^']*' argument missing$/, '$1 has no value')
    .replace(
      /^Option '(--[\w-]+)[^']*' argument is ambiguous$/,
      '$1 has no value; one that begins with a dash is written as $1=-1',
    )
    .replace(/^Option '(--[\w-]+)' does not take an argument$/, '$1 takes no value')
}

function generalHelp(colours: Colours): SafeText {
  const width = Math.max(...commandTable.map(({ name }) => name.length))
  const rows = commandTable.map(({ name, summary }) => safe`  ${colours.cyan(name.padEnd(width))}  ${summary}`)
  return paragraphs([
    ['Durable agents: read conversations, answer waiting calls, serve agents.'],
    [colours.bold('Usage'), '  perdure <command> [options]'],
    [colours.bold('Commands'), ...rows],
    [
      colours.bold('Where it looks'),
      '  --url of a server, else --store, else perdure.config.ts from here upward, else PERDURE_STORE, else .perdure/perdure.db',
    ],
    [
      colours.bold('Examples'),
      '  perdure list',
      '  perdure show ticket-42',
      '  perdure approve ticket-42',
      '  perdure <command> --help',
    ],
  ])
}

function commandHelp(entry: CommandEntry, command: Command, colours: Colours): SafeText {
  const places = Object.entries(command.args).filter(([, { type }]) => type === 'positional')
  const options = Object.entries({ ...command.args, ...commonArgs } as ArgsDef).filter(
    ([, { type }]) => type !== 'positional',
  )
  const usage = places.map(([name, { required }]) => (required === false ? `[${name}]` : `<${name}>`))
  const width = Math.max(...command.examples.map(([line]) => line.length))
  return paragraphs([
    [safe`${entry.summary}.`, ...(command.about ? [command.about] : [])],
    [colours.bold('Usage'), `  perdure ${[entry.name, ...usage].join(' ')} [options]`],
    described(
      'Arguments',
      places.map(([name, { description = '' }]) => [name, description]),
      colours,
    ),
    described(
      'Options',
      options.map(([name, definition]) => [optionOf(name, definition), definition.description ?? '']),
      colours,
    ),
    [
      colours.bold('Examples'),
      ...command.examples.map(([line, what]) => safe`  perdure ${line.padEnd(width)}  ${colours.dim(`# ${what}`)}`),
    ],
  ])
}

function optionOf(name: string, { type, valueHint, ...rest }: ArgsDef[string]): string {
  if (type === 'boolean') return `--${name}`
  const values = 'options' in rest && rest.options ? rest.options.join('|') : null
  return `--${name} <${values ?? valueHint ?? name}>`
}

function described(heading: string, rows: readonly (readonly [string, string])[], colours: Colours): Printable[] {
  if (rows.length === 0) return []
  const width = Math.max(...rows.map(([name]) => name.length))
  return [colours.bold(heading), ...rows.map(([name, what]) => safe`  ${colours.cyan(name.padEnd(width))}  ${what}`)]
}

function paragraphs(blocks: readonly (readonly Printable[])[]): SafeText {
  const filled = blocks.filter((lines) => lines.length > 0).map((lines) => joined(lines, '\n'))
  return joined(filled, '\n\n')
}
