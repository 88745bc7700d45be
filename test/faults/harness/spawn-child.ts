import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { channelFd } from './child-channel.ts'

export type ChildMessage = { readonly type: string }

export type ChildOptions<Message extends ChildMessage> = {
  /** The TypeScript file to run. */
  readonly script: URL
  readonly input: unknown
  readonly onMessage: (message: Message) => void
  /** A program that starts the child, as in `['strace', '-f']`. */
  readonly wrapper?: readonly string[]
  /** Extra arguments for node, as in `['--import', file]`. */
  readonly nodeArguments?: readonly string[]
  /** Beside those of this process. */
  readonly environment?: Readonly<Record<string, string>>
}

export type Child = {
  readonly pid: number
  tell(line: string): void
  kill(): void
  /** Resolves when the process has ended and all it said was heard. */
  readonly ended: Promise<ChildEnd>
}

export type ChildEnd = { readonly code: number | null; readonly signal: string | null; readonly complaint: string }

/** Starts a process that answers over a pipe of its own, so that its output cannot be mistaken for an acknowledgement. */
export function spawnChild<Message extends ChildMessage>(options: ChildOptions<Message>): Child {
  const node = [process.execPath, '--disable-warning=ExperimentalWarning', ...(options.nodeArguments ?? [])]
  const script = [fileURLToPath(options.script), JSON.stringify(options.input)]
  const [command, ...rest] = [...(options.wrapper ?? []), ...node, ...script]
  const env = { ...process.env, ...options.environment }
  const child = spawn(command!, rest, { env, stdio: ['pipe', 'ignore', 'pipe', 'pipe'] })
  let complaint = ''
  child.stderr!.on('data', (chunk) => (complaint = (complaint + String(chunk)).slice(-4000)))
  // A child that was killed has closed its end.
  child.stdin!.on('error', () => {})
  const lines = createInterface({ input: child.stdio[channelFd] as Readable })
  lines.on('line', (line) => {
    const message = parseLine<Message>(line)
    if (message) options.onMessage(message)
  })
  return {
    pid: child.pid ?? -1,
    tell: (line) => void (child.stdin as Writable).write(`${line}\n`),
    kill: () => void child.kill('SIGKILL'),
    ended: end(child, once(lines, 'close')).then((exit) => ({ ...exit, complaint })),
  }
}

async function end(
  child: ChildProcess,
  heardAll: Promise<unknown>,
): Promise<{ code: number | null; signal: string | null }> {
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null]
  await heardAll
  return { code, signal }
}

/** Null for the line a kill has cut off. */
function parseLine<Message>(line: string): Message | null {
  try {
    return JSON.parse(line) as Message
  } catch {
    return null
  }
}
