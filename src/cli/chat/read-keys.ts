import { emitKeypressEvents } from 'node:readline'
import type { ReadStream } from 'node:tty'
import type { Key } from './line-editor.ts'

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
