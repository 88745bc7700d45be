import { parseArgs as parseStrictly } from 'node:util'
import { type ArgsDef, type ParsedArgs, parseArgs } from 'citty'
import { CommandLineError } from '../base/errors/cli-errors.ts'

/** The words after a command, by its definition. Throws `CommandLineError` on everything the definition does not know. */
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
    // The library lets unknown options, missing values and superfluous words pass.
    const { positionals, values } = parseStrictly({
      args: [...words],
      options,
      allowPositionals: true,
      allowNegative: true,
    })
    // As of a variable that is not set: a command must not go on with something else than was meant.
    const empty = Object.keys(values).find((name) => values[name] === '')
    if (empty !== undefined) throw new Error(`--${empty} is empty`)
    if (positionals.length > places) throw new Error(`'${positionals[places]}' is one word too many`)
    return parseArgs<T>([...words], definition)
  } catch (error) {
    throw new CommandLineError(sentence(error), command)
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the library colours its messages
const colours = /\u001b\[\d+m/g

/** What the parsers say, without the advice of theirs that follows. */
function sentence(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return message
    .replaceAll(colours, '')
    .replace('. Expected one', '; expected one')
    .split(/\.\s|\n/)[0]!
    .replace(/\.$/, '')
}
