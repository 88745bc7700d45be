import { stripVTControlCharacters } from 'node:util'
import { type IPty, spawn } from '@lydell/node-pty'
import { TerminalModel } from './terminal-model.ts'

export type InTerminal = {
  readonly pid: number
  /** Everything it has shown, the newest last. */
  text(): string
  readonly model: TerminalModel
  type(text: string): void
  /** Resolves when the text is there; rejects with the whole screen when it ends without, or takes too long. */
  shows(wanted: string | RegExp): Promise<void>
  kill(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>
  isAlive(): boolean
  exited(): Promise<{ readonly exitCode: number; readonly signal?: number | undefined }>
}

export type StartOptions = {
  /** Default: the Node that runs this. */
  readonly program?: string
  readonly cwd: string
  readonly env?: Readonly<Record<string, string>>
  readonly columns?: number
  /** Written with escape sequences of its own: `text` then is all that was ever written, without them. */
  readonly isForeign?: boolean
}

export const keys = {
  enter: '\r',
  escape: '\u001b',
  ctrlC: '\u0003',
  ctrlD: '\u0004',
  ctrlU: '\u0015',
  up: '\u001b[A',
} as const

const patienceMs = 25_000

/** Runs a program of this repository in a real pseudo-terminal, with the Node that runs the tests and without anybody's keys. */
export function startInTerminal(args: readonly string[], options: StartOptions): InTerminal {
  const { program = process.execPath, cwd, env = {}, columns = 100, isForeign = false } = options
  const model = new TerminalModel(columns)
  const changes = new Set<() => void>()
  const changed = (): void => {
    for (const tell of changes) tell()
  }
  const child: IPty = spawn(program, [...args], {
    cols: columns,
    rows: 50,
    cwd,
    env: { ...withoutKeys(process.env), TERM: 'xterm-256color', ...env },
  })
  let broken: unknown = null
  let written = ''
  const text = (): string => (isForeign ? stripVTControlCharacters(written) : model.text())
  child.onData((data) => {
    try {
      if (isForeign) written += data
      else model.write(data)
    } catch (error) {
      broken ??= error
    }
    changed()
  })
  const exit = new Promise<{ exitCode: number; signal?: number | undefined }>((resolve) => child.onExit(resolve))
  let hasExited = false
  void exit.then(() => {
    hasExited = true
    changed()
  })

  return {
    pid: child.pid,
    model,
    text,
    type: (typed) => child.write(typed),
    shows: (wanted) =>
      new Promise((resolve, reject) => {
        const isThere = () => (typeof wanted === 'string' ? text().includes(wanted) : wanted.test(text()))
        const look = (): void => {
          if (broken) end(() => reject(broken))
          else if (isThere()) end(resolve)
          else if (hasExited) end(() => reject(new Error(`ended without showing ${wanted}:\n${text()}`)))
        }
        const end = (settle: () => void): void => {
          clearTimeout(timer)
          changes.delete(look)
          settle()
        }
        const timer = setTimeout(() => end(() => reject(new Error(`does not show ${wanted}:\n${text()}`))), patienceMs)
        changes.add(look)
        look()
      }),
    async kill(signal) {
      process.kill(child.pid, signal)
      await exit
    },
    isAlive: () => !hasExited,
    exited: () => exit,
  }
}

function withoutKeys(env: NodeJS.ProcessEnv): Record<string, string> {
  const { ANTHROPIC_API_KEY: _, OPENAI_API_KEY: __, PERDURE_BASE_URL: ___, NO_COLOR: ____, ...rest } = env
  return rest as Record<string, string>
}
