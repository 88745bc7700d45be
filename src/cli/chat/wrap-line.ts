import { safely } from '../terminal/safe-text.ts'
import { cells } from './cell-width.ts'
import type { Line, Style } from './line.ts'

type Cell = { readonly text: string; readonly width: number; readonly style: Style }

/** The rows a line takes: broken at spaces where there are some, further rows indented. Its text is harmless from here on. */
export function wrapLine(spans: Line, width: number, indent = 0): Line[] {
  const room = Math.max(width, indent + 2)
  const rows: Cell[][] = [[]]
  let used = 0
  let lastSpace = -1
  const breakRow = (): void => {
    const row = rows.at(-1)!
    const rest = lastSpace >= 0 ? row.splice(lastSpace + 1) : []
    if (lastSpace >= 0) row.pop()
    rows.push([...blank(indent), ...rest])
    used = rows.at(-1)!.reduce((sum, cell) => sum + cell.width, 0)
    lastSpace = -1
  }
  for (const cell of cellsOf(spans)) {
    if (cell.text === '\n') {
      rows.push(blank(indent))
      used = indent
      lastSpace = -1
      continue
    }
    if (used + cell.width > room) {
      // A space at the edge is the break itself.
      if (cell.text === ' ') {
        lastSpace = -1
        rows.push(blank(indent))
        used = indent
        continue
      }
      breakRow()
    }
    if (cell.text === ' ' && used > indent) lastSpace = rows.at(-1)!.length
    rows.at(-1)!.push(cell)
    used += cell.width
  }
  return rows.map(joined)
}

function cellsOf(spans: Line): Cell[] {
  return spans.flatMap(({ text, style }) =>
    cells(safely(text.toWellFormed()).replaceAll('\t', '  ')).map((cell) => ({ ...cell, style })),
  )
}

function blank(count: number): Cell[] {
  return Array.from({ length: count }, () => ({ text: ' ', width: 1, style: 'plain' as const }))
}

function joined(row: readonly Cell[]): Line {
  const spans: { text: string; style: Style }[] = []
  for (const { text, style } of row) {
    const last = spans.at(-1)
    if (last?.style === style) last.text += text
    else spans.push({ text, style })
  }
  return spans
}
