import type { WriteStream } from 'node:tty'
import { stripVTControlCharacters } from 'node:util'
import stringWidth from 'fast-string-width'
import { wrapAnsi } from 'fast-wrap-ansi'
import type { LogDetails, Logger } from '../../base/logger.ts'
import { type Colours, joined, type Printable, SafeText, safely } from '../terminal/text.ts'
import type { Paper } from '../transcript/transcript.ts'

/** The lines that stay at the bottom, and the cursor's place in them. */
export type Foot = {
  readonly lines: readonly Printable[]
  readonly cursor: { readonly row: number; readonly column: number } | null
}

type ScreenOutput = Pick<WriteStream, 'write'> & {
  readonly columns?: number
  readonly rows?: number
  readonly isTTY?: boolean
}

const indent = 2

/** Printed lines scroll by and stay; the foot below them is redrawn. Without a terminal there is no foot. */
export class Screen implements Paper {
  readonly colours: Colours
  readonly #output: ScreenOutput
  /** The last row of the open line. `#isContinued`: rows before it are printed. */
  #open = new SafeText('')
  #isContinued = false
  #foot: Foot = { lines: [], cursor: null }
  /** The cells of each redrawn row, up to the cursor. */
  #drawn: readonly number[] = [0]
  #isScheduled = false
  #pending = ''

  constructor(output: ScreenOutput, colours: Colours) {
    this.#output = output
    this.colours = colours
  }

  get width(): number {
    // The last column stays free: a terminal breaks the line there by itself.
    return Math.max(20, (this.#output.columns ?? 80) - 1)
  }

  print(...lines: readonly Printable[]): void {
    this.closeLine()
    for (const line of lines) this.#settle(wrapText(line, this.width, indentOf(line)))
    this.#schedule()
  }

  append(text: Printable): void {
    this.#open = joined([this.#open, text])
    const rows = this.#openRows()
    if (rows.length > 1) {
      this.#settle(rows.slice(0, -1))
      this.#open = new SafeText(rows.at(-1)!.slice(indent))
      this.#isContinued = true
    }
    this.#schedule()
  }

  closeLine(): void {
    if (widthOf(this.#open) > 0) this.#settle(this.#openRows())
    this.#open = new SafeText('')
    this.#isContinued = false
    this.#schedule()
  }

  setFoot(foot: Foot): void {
    this.#foot = foot
    this.#schedule()
  }

  /** Removes the foot. */
  end(): void {
    this.closeLine()
    this.#foot = { lines: [], cursor: null }
    this.draw()
  }

  #openRows(): string[] {
    const rows = wrapText(this.#open, this.width, indent)
    return this.#isContinued ? [' '.repeat(indent) + rows[0]!, ...rows.slice(1)] : rows
  }

  #settle(rows: readonly string[]): void {
    for (const row of rows) this.#pending += `${row}\n`
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => this.draw())
  }

  draw(): void {
    this.#isScheduled = false
    const settled = this.#pending
    this.#pending = ''
    if (!this.#output.isTTY) return void this.#output.write(settled)
    const { rows, cursor } = this.#bottom()
    const above = this.#rowsAboveCursor()
    const up = above > 0 ? `\u001b[${above}A` : ''
    const below = rows.length - 1 - cursor.row
    const down = `${below > 0 ? `\u001b[${below}A` : ''}\r${cursor.column > 0 ? `\u001b[${cursor.column}C` : ''}`
    this.#output.write(`\r${up}\u001b[J${settled}${rows.join('\n')}${down}`)
    this.#drawn = [...rows.slice(0, cursor.row).map((row) => widthOf(new SafeText(row))), cursor.column]
  }

  /** A terminal that was made narrower has broken the rows since. */
  #rowsAboveCursor(): number {
    const columns = this.#output.columns ?? 80
    const last = this.#drawn.length - 1
    return this.#drawn.reduce((sum, width, index) => {
      return sum + (index < last ? Math.max(1, Math.ceil(width / columns)) : Math.floor(width / columns))
    }, 0)
  }

  /** The rows to redraw: never wider or higher than the terminal, or the way back to the first of them would be lost. */
  #bottom(): { rows: readonly string[]; cursor: { row: number; column: number } } {
    const open = this.#open.text === '' ? [] : this.#openRows()
    const foot = this.#foot.lines.map((line) => wrapText(line, this.width)[0]!)
    const all = [...open, ...foot]
    if (!this.#foot.cursor) all.push('')
    const { row, column } = this.#foot.cursor ?? { row: foot.length, column: 0 }
    const cursorRow = open.length + row
    const height = Math.max(2, (this.#output.rows ?? 24) - 1)
    const first = Math.max(0, Math.min(all.length - height, cursorRow))
    return { rows: all.slice(first, first + height), cursor: { row: cursorRow - first, column } }
  }
}

/** Further rows of a line begin where its text does. */
function indentOf(line: Printable): number {
  const text = stripVTControlCharacters(safely(line))
  return Math.max(indent, text.length - text.trimStart().length)
}

/** Prints warnings and errors as lines of the chat, because `console` would overwrite the rows below it. */
export function screenLogger(paper: Pick<Paper, 'colours' | 'print'>): Logger {
  const tell = (message: string, details: LogDetails = {}): void => {
    const { error } = details
    const why = error === undefined ? '' : `: ${error instanceof Error ? error.message : String(error)}`
    paper.print(paper.colours.yellow(`  ! ${message}${why}`))
  }
  return { debug: () => {}, info: () => {}, warn: tell, error: tell }
}

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
