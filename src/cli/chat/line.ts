import { type Colours, safely } from '../terminal/text.ts'

/** How a piece of text looks. Nothing but these names becomes an escape sequence. */
export type Style = 'plain' | keyof Colours

export type Span = { readonly text: string; readonly style: Style }

/** One line of the screen before it is wrapped. Its text may be anything: it is made harmless when it is painted. */
export type Line = readonly Span[]

/** `line('a', dim('b'))`: strings are plain. */
export function line(...pieces: readonly (string | Span)[]): Line {
  return pieces.map((piece) => (typeof piece === 'string' ? { text: piece, style: 'plain' } : piece))
}

export function styled(style: Style, text: string): Span {
  return { text, style }
}

const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/** What a person takes for one character each, with the cells it takes on a terminal. */
export function cells(text: string): { readonly text: string; readonly width: number }[] {
  return isAscii(text)
    ? [...text].map((character) => ({ text: character, width: 1 }))
    : Array.from(segmenter.segment(text), ({ segment }) => ({ text: segment, width: widthOf(segment) }))
}

function isAscii(text: string): boolean {
  return /^[\x20-\x7e]*$/.test(text)
}

function widthOf(grapheme: string): number {
  if (/^[\p{Mark}\p{Cf}]+$/u.test(grapheme)) return 0
  return wide.test(grapheme) ? 2 : 1
}

const wide =
  /^(?:\p{Emoji_Presentation}|\p{Extended_Pictographic}\ufe0f|[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}])/u

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

/** A row as it is written to the terminal: the one place where text and escape sequences meet. */
export function paintLine(row: Line, colours: Colours): string {
  return row
    .map(({ text, style }) => {
      const shown = safely(text).replaceAll('\n', '\u240a')
      return style === 'plain' ? shown : safely(colours[style](shown))
    })
    .join('')
}
