import { createInterface, emitKeypressEvents, type Interface } from 'node:readline'
import { PassThrough, Writable } from 'node:stream'
import type { ReadStream } from 'node:tty'
import { onAbort } from '../../base/abort.ts'
import { joined, type Printable, SafeText } from '../terminal/text.ts'
import type { Paper } from '../transcript/transcript.ts'
import type { Asker } from './ask-decision.ts'
import { breakText, widthOf } from './screen.ts'

/** A key as Node's readline names it. `text`: the characters it types; empty for keys that type none. */
export type Key = { readonly name: string; readonly ctrl: boolean; readonly meta: boolean; readonly text: string }

export type Ask = {
  /** Before the line. */
  readonly label: SafeText
  readonly initial?: string
  /** Ends the prompt, with null. */
  readonly signal?: AbortSignal
  /** Lines typed before, the newest last. */
  readonly history?: readonly string[]
  /** Whether it takes the keys pressed while no question was open. An answer must not be typed before its question is seen. */
  readonly takesTypeAhead?: boolean
}

type Open = { readonly label: SafeText; readonly editor: Interface; settle(text: string | null): void }

/** The line that is typed at the bottom of the screen. Node's readline edits it; the screen draws it. */
export class Prompter {
  readonly #onChange: () => void
  #open: Open | null = null
  #ahead: Key[] = []

  constructor(onChange: () => void) {
    this.#onChange = onChange
  }

  get isAsking(): boolean {
    return this.#open !== null
  }

  get text(): string {
    return this.#open?.editor.line ?? ''
  }

  /** The typed line; null when the question was withdrawn or left with Escape. One at a time. */
  async ask({ label, initial = '', signal, history = [], takesTypeAhead = false }: Ask): Promise<string | null> {
    if (signal?.aborted) return null
    const { promise, resolve } = Promise.withResolvers<string | null>()
    const editor = lineEditor(history)
    this.#open = { label, editor, settle: resolve }
    if (initial !== '') editor.write(initial)
    const ignoreSignal = onAbort(signal, () => this.leave())
    const ahead = this.#ahead.splice(0)
    if (takesTypeAhead) for (const key of ahead) this.press(key)
    this.#onChange()
    try {
      return await promise
    } finally {
      editor.close()
      ignoreSignal()
    }
  }

  leave(): void {
    this.#end(null)
  }

  clear(): void {
    for (const name of ['e', 'u']) this.#open?.editor.write(null, { ctrl: true, name })
    this.#onChange()
  }

  press(key: Key): void {
    const { name, ctrl, meta, text } = key
    if (!this.#open) return void this.#ahead.push(key)
    if (name === 'return' || name === 'enter') return this.#end(this.text)
    if (name === 'escape') return this.#end(null)
    // Readline would stop or suspend the process with these.
    if (ctrl && (name === 'c' || name === 'z')) return
    this.#open.editor.write(/\p{Cc}/u.test(text) ? null : text, { name, ctrl, meta })
    this.#onChange()
  }

  /** The rows of label and line, and the cursor's place in them. */
  rows(width: number): { rows: readonly Printable[]; cursor: { row: number; column: number } } {
    if (!this.#open) return { rows: [''], cursor: { row: 0, column: 0 } }
    const { label, editor } = this.#open
    const before = breakRows([label, editor.line.slice(0, editor.cursor)], width)
    const cursor = { row: before.length - 1, column: widthOf(before.at(-1)!) }
    return { rows: breakRows([label, editor.line], width), cursor }
  }

  #end(text: string | null): void {
    const open = this.#open
    this.#open = null
    open?.settle(text)
    this.#onChange()
  }
}

function breakRows(pieces: readonly Printable[], width: number): SafeText[] {
  return breakText(joined(pieces), width).map((row) => new SafeText(row))
}

/** Readline with neither keyboard nor screen: it edits the line and remembers the ones before. */
function lineEditor(history: readonly string[]): Interface {
  const output = new Writable({ write: (_chunk, _encoding, done) => done() })
  return createInterface({ input: new PassThrough(), output, terminal: true, history: history.toReversed() })
}

/** Asks questions in the line at the bottom of the screen, until the signal withdraws them. */
export function lineAsker(prompter: Prompter, paper: Pick<Paper, 'print' | 'colours'>, signal: AbortSignal): Asker {
  const ask: Asker['ask'] = (label, initial = '') =>
    prompter.ask({ label: paper.colours.yellow(`${label} `), initial, signal })
  const say: Asker['say'] = (text) => paper.print(paper.colours.dim(`    ${text}`))
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

type RawKey = { readonly name?: string; readonly ctrl?: boolean; readonly meta?: boolean }

const pasteOn = '\u001b[?2004h'
const pasteOff = '\u001b[?2004l'

/** Takes the keyboard until the returned function is called. Pasted text is only typed: a line break in it sends nothing. */
export function readKeys(
  input: ReadStream,
  output: { write(text: string): unknown },
  onKey: (key: Key) => void,
): () => void {
  let isPasting = false
  const onKeypress = (text: string | undefined, { name = '', ctrl = false, meta = false }: RawKey): void => {
    if (name === 'paste-start' || name === 'paste-end') isPasting = name === 'paste-start'
    else if (!isPasting) onKey({ name, ctrl, meta, text: text ?? '' })
    else onKey({ name: '', ctrl: false, meta: false, text: (text ?? '').replace(/\p{Cc}/gu, ' ') })
  }
  emitKeypressEvents(input)
  input.on('keypress', onKeypress)
  input.setRawMode(true)
  input.resume()
  output.write(pasteOn)
  return () => {
    input.off('keypress', onKeypress)
    input.setRawMode(false)
    input.pause()
    output.write(pasteOff)
  }
}
