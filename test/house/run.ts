import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { executedByTurns } from './executed-files.ts'
import { type Figures, figuresOf, missedTargets, rowsOf } from './figures.ts'
import { readTexts } from './plain-words.ts'
import { readSources } from './source-files.ts'

/**
 * `npm run house [-- --json] [--strict] [--list <what>]`: how the sources are built, in figures, beside what they should be. `--json` prints all that was found,
 * `--list` one of its lists, a line each. Fails with `--strict` only, when a target is missed.
 */
const lists = [
  'shortFiles',
  'oneImporter',
  'chain',
  'folderCycles',
  'turnFiles',
  'httpTurnFiles',
  'vagueWords',
] as const
const { values } = parseArgs({
  options: { json: { type: 'boolean' }, strict: { type: 'boolean' }, list: { type: 'string' } },
})

const root = join(import.meta.dirname, '..', '..')
const figures = figuresOf(readSources(root), readTexts(root), await executedByTurns(root))
const rows = rowsOf(figures)

if (values.json) console.log(JSON.stringify({ rows, ...figures }, null, 2))
else if (values.list !== undefined) for (const line of linesOf(figures, values.list)) console.log(line)
else for (const { name, value, atMost } of rows) console.log(lineOf(name, value, atMost))

if (values.strict && missedTargets(rows).length > 0) process.exitCode = 1

function lineOf(name: string, value: number, atMost: number | undefined): string {
  const figure = `${name.padEnd(38)}${value.toLocaleString('en').padStart(8)}`
  if (atMost === undefined) return figure
  return `${figure}   at most ${atMost.toLocaleString('en').padStart(6)}${value > atMost ? '   missed' : ''}`
}

function linesOf({ oneImporter, folderCycles, vagueWords, ...others }: Figures, list: string): readonly string[] {
  const name = lists.find((known) => known === list)
  if (name === undefined) throw new Error(`There is no list '${list}'. Choose one of: ${lists.join(', ')}`)
  if (name === 'oneImporter') return Object.entries(oneImporter).map(([file, importer]) => `${file} <- ${importer}`)
  if (name === 'folderCycles') return folderCycles.map((cycle) => cycle.join(', '))
  if (name === 'vagueWords') return vagueWords.map(({ path, line, word }) => `${path}:${line} ${word}`)
  return others[name]
}
