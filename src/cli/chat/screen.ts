import { spawnSync } from 'node:child_process'
import type { ReadStream, WriteStream } from 'node:tty'
import type { LogDetails, Logger } from '../../base/logger.ts'
import type { Colours } from '../terminal/text.ts'
import type { ChatSession } from './chat-session.ts'
import { cells, type Line, line, paintLine, type Span, styled, wrapLine } from './line.ts'
import { readKeys } from './line-editor.ts'
import type { Paper } from './transcript.ts'

/** What stays in view at the bottom, and where the cursor is in it. */
export type Foot = {
  readonly lines: readonly Line[]
  readonly cursor: { readonly row: number; readonly column: number } | null
}

export type Output = Pick<WriteStream, 'write'> & {
  readonly columns?: number
  readonly rows?: number
  readonly isTTY?: boolean
}

const indent = 2

/** Lines go by and stay; below them is a foot that is drawn anew. Without a terminal there is no foot. */
export class Screen {
  readonly #output: Output
  readonly #colours: Colours
  #open: Span[] = []
  #foot: Foot = { lines: [], cursor: null }
  /** The cells of each row from the first one that is drawn anew up to the cursor. */
  #drawn: readonly number[] = [0]
  #isScheduled = false
  #pending = ''

  constructor(output: Output, colours: Colours) {
    this.#output = output
    this.#colours = colours
  }

  get width(): number {
    // The last column is left free: a terminal breaks the line by itself there.
    return Math.max(20, (this.#output.columns ?? 80) - 1)
  }

  /** Ends the open line and adds one. */
  print(...lines: readonly Line[]): void {
    this.closeLine()
    for (const added of lines) this.#settle(wrapLine(added, this.width, indentOf(added)))
    this.#schedule()
  }

  /** Adds to the open line, of which whole rows are settled. */
  append(...spans: readonly Span[]): void {
    this.#open.push(...spans)
    const rows = wrapLine(this.#open, this.width, indent)
    if (rows.length > 1) {
      this.#settle(rows.slice(0, -1))
      this.#open = [...rows.at(-1)!]
    }
    this.#schedule()
  }

  closeLine(): void {
    if (this.#open.length === 0) return
    this.#settle(wrapLine(this.#open, this.width, indent))
    this.#open = []
    this.#schedule()
  }

  setFoot(foot: Foot): void {
    this.#foot = foot
    this.#schedule()
  }

  /** Leaves what was printed, without the foot. */
  end(): void {
    this.closeLine()
    this.#foot = { lines: [], cursor: null }
    this.draw()
  }

  #settle(rows: readonly Line[]): void {
    for (const row of rows) this.#pending += `${paintLine(row, this.#colours)}\n`
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
    const painted = rows.map((row) => paintLine(row, this.#colours)).join('\n')
    this.#output.write(`\r${up}\u001b[J${settled}${painted}${down}`)
    this.#drawn = [...rows.slice(0, cursor.row).map(widthOf), cursor.column]
  }

  /** A terminal that has become narrower has broken the rows since. */
  #rowsAboveCursor(): number {
    const columns = this.#output.columns ?? 80
    const last = this.#drawn.length - 1
    return this.#drawn.reduce((sum, width, index) => {
      return sum + (index < last ? Math.max(1, Math.ceil(width / columns)) : Math.floor(width / columns))
    }, 0)
  }

  /** What is drawn anew: never wider or higher than the terminal, or the way back to its first row would be lost. */
  #bottom(): { rows: readonly Line[]; cursor: { row: number; column: number } } {
    const open = this.#open.length > 0 ? wrapLine(this.#open, this.width, indent) : []
    const foot = this.#foot.lines.map((row) => wrapLine(row, this.width)[0]!)
    const all = [...open, ...foot]
    if (!this.#foot.cursor) all.push([])
    const { row, column } = this.#foot.cursor ?? { row: foot.length, column: 0 }
    const cursorRow = open.length + row
    const height = Math.max(2, (this.#output.rows ?? 24) - 1)
    const first = Math.max(0, Math.min(all.length - height, cursorRow))
    return { rows: all.slice(first, first + height), cursor: { row: cursorRow - first, column } }
  }
}

/** Further rows of a line begin where its text does. */
function indentOf([first]: Line): number {
  return Math.max(indent, first ? first.text.length - first.text.trimStart().length : 0)
}

function widthOf(row: Line): number {
  return row.reduce((sum, { text }) => sum + cells(text).reduce((width, cell) => width + cell.width, 0), 0)
}

/** Warnings and errors as lines of the chat, where the console would write over it. */
export function screenLogger(paper: Pick<Paper, 'print'>): Logger {
  const tell = (message: string, details: LogDetails = {}): void => {
    const { error } = details
    const why = error === undefined ? '' : `: ${error instanceof Error ? error.message : String(error)}`
    paper.print(line(styled('yellow', `  ! ${message}${why}`)))
  }
  return { debug: () => {}, info: () => {}, warn: tell, error: tell }
}

type Terminal = { readonly input: ReadStream; readonly output: WriteStream }

/** Gives a chat the keyboard until it ends. */
export async function atTerminal(
  session: ChatSession,
  { input, output }: Terminal,
  signal: AbortSignal,
): Promise<void> {
  mendTerminal()
  const release = readKeys(input, output, (key) => session.press(key))
  const resized = (): void => session.resized()
  const end = (): void => session.end()
  output.on('resize', resized)
  input.on('end', end)
  signal.addEventListener('abort', end, { once: true })
  if (signal.aborted) end()
  try {
    await session.run()
  } finally {
    output.off('resize', resized)
    input.off('end', end)
    signal.removeEventListener('abort', end)
    release()
  }
}

/** A process that was killed could not give the keyboard back as it was; what Node finds now, it would leave behind. */
function mendTerminal(): void {
  if (process.platform !== 'win32') spawnSync('stty', ['sane'], { stdio: ['inherit', 'ignore', 'ignore'] })
}
