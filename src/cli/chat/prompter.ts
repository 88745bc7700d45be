import { safely } from '../terminal/text.ts'
import type { Asker } from './ask-decision.ts'
import { cells, type Line, line, type Span, styled } from './line.ts'
import { type Edited, editLine, emptyLine, type Key, lineOf } from './line-editor.ts'
import type { Paper } from './transcript.ts'

export type Ask = {
  /** Before the line. */
  readonly label: Line
  readonly initial?: string
  /** Ends the prompt, with null. */
  readonly signal?: AbortSignal
  /** Lines typed before, the newest last. */
  readonly history?: readonly string[]
  /** Whether keys pressed while nothing was asked belong to it. An answer must not be typed before its question is seen. */
  readonly takesTypeAhead?: boolean
}

/** The one line that is typed at the bottom of the screen. */
export class Prompter {
  readonly #onChange: () => void
  #label: Line = []
  #line: Edited = emptyLine
  #history: readonly string[] = []
  #place = 0
  #settle: ((text: string | null) => void) | null = null
  #ahead: Key[] = []

  constructor(onChange: () => void) {
    this.#onChange = onChange
  }

  get isAsking(): boolean {
    return this.#settle !== null
  }

  get text(): string {
    return this.#line.before + this.#line.after
  }

  /** The line that was typed; null when it was withdrawn or left with Escape. One at a time. */
  async ask(asked: Ask): Promise<string | null> {
    const { label, initial = '', signal, history = [], takesTypeAhead = false } = asked
    if (signal?.aborted) return null
    this.#label = label
    this.#line = lineOf(initial)
    this.#history = history
    this.#place = history.length
    const leave = (): void => this.leave()
    signal?.addEventListener('abort', leave, { once: true })
    const answered = new Promise<string | null>((resolve) => {
      this.#settle = resolve
    })
    const ahead = this.#ahead
    this.#ahead = []
    if (takesTypeAhead) for (const key of ahead) this.press(key)
    this.#onChange()
    try {
      return await answered
    } finally {
      signal?.removeEventListener('abort', leave)
    }
  }

  leave(): void {
    this.#end(null)
  }

  clear(): void {
    this.#line = emptyLine
    this.#onChange()
  }

  press(key: Key): void {
    if (!this.#settle) return void this.#ahead.push(key)
    if (key.name === 'return' || key.name === 'enter') return this.#end(this.text)
    if (key.name === 'escape') return this.#end(null)
    if (key.name === 'up' || key.name === 'down') this.#recall(key.name === 'up' ? -1 : 1)
    else this.#line = editLine(this.#line, key)
    this.#onChange()
  }

  /** Label and line as rows, and where the cursor is in them. */
  rows(width: number): { rows: Line[]; cursor: { row: number; column: number } } {
    const rows: Span[][] = [[]]
    if (!this.isAsking) return { rows, cursor: { row: 0, column: 0 } }
    let used = 0
    const put = ({ text, style }: Span): void => {
      let from = rows.at(-1)!.push({ text: '', style }) - 1
      for (const cell of cells(safely(text))) {
        if (used + cell.width > width) {
          from = rows.push([{ text: '', style }]) && 0
          used = 0
        }
        const row = rows.at(-1)!
        row[from] = { text: row[from]!.text + cell.text, style }
        used += cell.width
      }
    }
    this.#label.forEach(put)
    put({ text: this.#line.before, style: 'plain' })
    const cursor = { row: rows.length - 1, column: used }
    put({ text: this.#line.after, style: 'plain' })
    return { rows, cursor }
  }

  #recall(by: number): void {
    const place = this.#place + by
    if (place < 0 || place > this.#history.length) return
    this.#place = place
    this.#line = lineOf(this.#history[place] ?? '')
  }

  #end(text: string | null): void {
    const settle = this.#settle
    this.#settle = null
    this.#line = emptyLine
    settle?.(text)
    this.#onChange()
  }
}

/** Puts questions to the person in the line at the bottom of the screen, until the signal takes them back. */
export function lineAsker(prompter: Prompter, paper: Pick<Paper, 'print'>, signal: AbortSignal): Asker {
  const ask: Asker['ask'] = (label, initial = '') =>
    prompter.ask({ label: line(styled('yellow', `${label} `)), initial, signal })
  const say: Asker['say'] = (text) => paper.print(line(styled('dim', `    ${text}`)))
  return {
    ask,
    say,
    choose: async (label, choices) => {
      const shown = choices.map((choice) => `(${choice[0]})${choice.slice(1)}`).join(' · ')
      for (;;) {
        const typed = (await ask(`${label} ${shown} ›`))?.trim().toLowerCase()
        if (typed === undefined) return null
        const found = choices.find((choice) => choice === typed || choice[0] === typed)
        if (found) return found
        if (typed !== '') say(`Type one of the letters in brackets, not '${typed}'.`)
      }
    },
  }
}
