import stringWidth from 'fast-string-width'
import { wrapAnsi } from 'fast-wrap-ansi'
import { type Printable, safely } from '../terminal/text.ts'

/** The cells that a text takes on a terminal. */
export function widthOf(text: Printable): number {
  return stringWidth(safely(text))
}

/** The rows of a text, broken at spaces where it has some. Further rows are indented. */
export function wrapText(text: Printable, width: number, indent = 0): string[] {
  const [first = '', ...more] = shown(text)
    .split('\n')
    .flatMap((line) => wrapLine(line, width - indent))
  return [first, ...more.map((row) => ' '.repeat(indent) + row)]
}

function wrapLine(line: string, width: number): string[] {
  const [first = '', ...more] = wrapAnsi(line, width, { hard: true, trim: false }).split('\n')
  // A space at the edge is the break itself.
  return [first, ...more.map((row) => row.replace(leadingSpaces, '$1'))]
}

/** The rows of a text, filled to the last cell as a terminal fills them: a longer text has the same first rows. */
export function breakText(text: Printable, width: number): string[] {
  return wrapAnsi(shown(text), width, { wordWrap: false, trim: false }).split('\n')
}

function shown(text: Printable): string {
  return safely(text).replaceAll('\t', '  ')
}

/** After the colours that begin a row. */
const leadingSpaces = /^((?:\p{Cc}\[\d+m)*) +/u
