import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach } from 'vitest'
import { type LedgerLine, readLedger } from '../../src/cli/demo/support-tools.ts'
import type { LogEvent } from '../../src/log/events.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { type InTerminal, startInTerminal } from './start-in-terminal.ts'

export const perdureProgram = resolve('src/cli/main.ts')

/** So slow that nothing ends before it is stopped, and so fast that the tests do not wait. */
export const paces = { slow: '10', quick: '0' } as const

export type DemoLives = {
  folder(): string
  /** Starts the demo in a terminal. */
  live(pace: keyof typeof paces, env?: Record<string, string>): InTerminal
  /** Any command of `perdure`, in a terminal. */
  start(...args: string[]): InTerminal
  /** Any command of `perdure`, in a process of its own; what it prints. */
  elsewhere(...args: string[]): Promise<string>
  log(id?: string): Promise<LogEvent[]>
  ledger(): LedgerLine[]
}

/** A folder for each test, and processes in it that do not outlive the test. */
export function demoLives(): DemoLives {
  let cwd = ''
  let lives: InTerminal[] = []
  beforeEach(async () => {
    cwd = await mkdtemp(join(tmpdir(), 'perdure-demo-'))
    lives = []
  })
  afterEach(async () => {
    for (const { isAlive, kill } of lives) if (isAlive()) await kill('SIGKILL')
    await rm(cwd, { recursive: true, force: true })
  })
  const start = (args: readonly string[], env: Record<string, string>): InTerminal => {
    const life = startInTerminal([perdureProgram, ...args], { cwd, env })
    lives.push(life)
    return life
  }
  return {
    folder: () => cwd,
    live: (pace, env = {}) => start(['demo', '--port', '0', '--empty'], { PERDURE_DEMO_PACE: paces[pace], ...env }),
    start: (...args) => start(args, {}),
    elsewhere: async (...args) =>
      (await promisify(execFile)(process.execPath, [perdureProgram, ...args], { cwd })).stdout,
    async log(id = 'demo') {
      const store = sqliteStore({ path: join(cwd, '.perdure', 'perdure.db') })
      try {
        return await store.streamEvents(id, {})
      } finally {
        await store.close()
      }
    },
    ledger: () => readLedger(join(cwd, '.perdure', 'demo-ledger.jsonl')),
  }
}
