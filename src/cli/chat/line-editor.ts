import { emitKeypressEvents } from 'node:readline'
import type { ReadStream } from 'node:tty'
import { cells } from './line.ts'

/** A line being typed: what is left of the cursor, and what is right of it. */
export type Edited = { readonly before: string; readonly after: string }

/** A key as Node's readline names it. `text` is what it stands for, where it stands for something. */
export type Key = { readonly name: string; readonly ctrl: boolean; readonly meta: boolean; readonly text: string }

export const emptyLine: Edited = { before: '', after: '' }

export function lineOf(text: string): Edited {
  return { before: text, after: '' }
}

/** The line after a key. The same object when the key means nothing here. */
export function editLine(edited: Edited, { name, ctrl, meta, text }: Key): Edited {
  const { before, after } = edited
  if (ctrl) return byControl(edited, name)
  if (meta) return name === 'backspace' ? { before: withoutWord(before), after } : edited
  switch (name) {
    case 'backspace':
      return { before: withoutLast(before), after }
    case 'delete':
      return { before, after: withoutFirst(after) }
    case 'left':
      return { before: withoutLast(before), after: lastOf(before) + after }
    case 'right':
      return { before: before + firstOf(after), after: withoutFirst(after) }
    case 'home':
      return { before: '', after: before + after }
    case 'end':
      return { before: before + after, after: '' }
    default:
      return isTyped(text) ? { before: before + text, after } : edited
  }
}

function byControl(edited: Edited, name: string): Edited {
  const { before, after } = edited
  switch (name) {
    case 'a':
      return { before: '', after: before + after }
    case 'e':
      return { before: before + after, after: '' }
    case 'u':
      return { before: '', after }
    case 'k':
      return { before, after: '' }
    case 'w':
      return { before: withoutWord(before), after }
    case 'd':
      return { before, after: withoutFirst(after) }
    case 'h':
      return { before: withoutLast(before), after }
    default:
      return edited
  }
}

function isTyped(text: string): boolean {
  return text !== '' && !/\p{Cc}/u.test(text)
}

function lastOf(text: string): string {
  return cells(text).at(-1)?.text ?? ''
}

function firstOf(text: string): string {
  return cells(text)[0]?.text ?? ''
}

function withoutLast(text: string): string {
  return text.slice(0, text.length - lastOf(text).length)
}

function withoutFirst(text: string): string {
  return text.slice(firstOf(text).length)
}

function withoutWord(text: string): string {
  return text.replace(/\S*\s*$/, '')
}

type RawKey = { readonly name?: string; readonly ctrl?: boolean; readonly meta?: boolean; readonly sequence?: string }

const pasteOn = '\u001b[?2004h'
const pasteOff = '\u001b[?2004l'

/** Takes the keyboard until the returned function is called. What is pasted is text: a line break in it submits nothing. */
export function readKeys(
  input: ReadStream,
  output: { write(text: string): unknown },
  onKey: (key: Key) => void,
): () => void {
  let isPasting = false
  const onKeypress = (text: string | undefined, raw: RawKey): void => {
    const { name = '', ctrl = false, meta = false } = raw
    if (name === 'paste-start' || name === 'paste-end') {
      isPasting = name === 'paste-start'
      return
    }
    if (!isPasting) onKey({ name, ctrl, meta, text: text ?? '' })
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
