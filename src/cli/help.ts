import type { ArgsDef } from 'citty'
import { type Command, commonArgs } from './command.ts'
import { type CommandEntry, commandTable } from './command-table.ts'
import type { Colours } from './terminal/colours.ts'
import { joined, type Printable, type SafeText, safe } from './terminal/safe-text.ts'

export function generalHelp(colours: Colours): SafeText {
  const width = Math.max(...commandTable.map(({ name }) => name.length))
  const rows = commandTable.map(({ name, summary }) => safe`  ${colours.cyan(name.padEnd(width))}  ${summary}`)
  return paragraphs([
    ['Durable agents: look at conversations, answer what waits, serve them.'],
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

export function commandHelp(entry: CommandEntry, command: Command, colours: Colours): SafeText {
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
