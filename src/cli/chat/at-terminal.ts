import { spawnSync } from 'node:child_process'
import type { ReadStream, WriteStream } from 'node:tty'
import type { ChatSession } from './chat-session.ts'
import { readKeys } from './read-keys.ts'

export type Terminal = { readonly input: ReadStream; readonly output: WriteStream }

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
