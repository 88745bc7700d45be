import { type Printable, SafeText, safely } from './safe-text.ts'

const gap = '  '
const narrowest = 8

/** Rows below a heading, in columns. What does not fit into `width` is taken from the last column; no width means no limit. */
export function table(heading: readonly Printable[], rows: readonly (readonly Printable[])[], width = 0): SafeText[] {
  const cells = [heading, ...rows].map((row) => row.map((cell) => oneLine(safely(cell))))
  const widths = heading.map((_, column) => Math.max(...cells.map((row) => visibleLength(row[column] ?? ''))))
  const before = widths.slice(0, -1).reduce((sum, each) => sum + each + gap.length, 0)
  const last = width > 0 ? Math.max(narrowest, width - before) : Number.POSITIVE_INFINITY
  return cells.map((row) => {
    const padded = row.map((cell, column) =>
      column === row.length - 1 ? shortened(cell, last) : cell + ' '.repeat(widths[column]! - visibleLength(cell)),
    )
    return new SafeText(padded.join(gap).trimEnd())
  })
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours take no room
const colours = /\u001b\[\d+m/g

function visibleLength(text: string): number {
  return [...text.replaceAll(colours, '')].length
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim()
}

/** A cell with colours is ours, and short. */
function shortened(text: string, most: number): string {
  const characters = [...text]
  const length = visibleLength(text)
  if (length <= most || length < characters.length) return text
  return `${characters.slice(0, most - 1).join('')}…`
}
