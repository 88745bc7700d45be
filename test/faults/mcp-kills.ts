import { type ChildProcess, fork } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { LogEvent } from '../../src/log/events.ts'
import { sqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { type CommandOptions, runCommand } from './harness/command.ts'
import { type Finding, judge, type Verdict } from './harness/verdict.ts'

type McpKills = { readonly seed: number; readonly rounds: number }

const patienceMs = 30_000

/** For the command line: the program has stores of its own. */
async function judged({ store, seed, rounds = 40 }: CommandOptions): Promise<Verdict> {
  return judge({ program: 'mcp-kills', store, seed }, [{ name: 'kills', find: () => mcpKills({ seed, rounds }) }])
}

/**
 * Our client and our server, each in a process of its own. Both are killed with SIGKILL between `input_required` and its answer, and one of them again right
 * after the answer was given. Every turn must end, each call must be answered once, and no refund is paid twice. Returns what went wrong.
 */
export async function mcpKills({ seed, rounds }: McpKills): Promise<Finding> {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-mcp-kills-'))
  const effects = join(folder, 'effects')
  writeFileSync(effects, '')
  const violations: string[] = []
  /** The requests so far, and whether the process that pays was killed after the answer. */
  const diedIn = new Map<string, boolean>()
  const children = new Set<ChildProcess>()
  const start = async (role: 'desk' | 'front'): Promise<ChildProcess> => {
    const args = [role, join(folder, `${role}.db`), effects, join(folder, 'port')]
    const execArgv = ['--disable-warning=ExperimentalWarning']
    const child = fork(join(import.meta.dirname, 'mcp-kills', 'child.ts'), args, { execArgv })
    children.add(child)
    return child
  }
  const kill = async (child: ChildProcess): Promise<void> => {
    const gone = new Promise((resolve) => child.once('exit', resolve))
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL')
      await gone
    }
    children.delete(child)
  }
  try {
    let desk = await start('desk')
    await told(desk)
    let front = await start('front')
    await told(front)
    for (let round = 0; round < rounds; round++) {
      const id = `c${round}`
      front.send({ send: id })
      const { outcome } = await told<{ outcome: { status: string } }>(front)
      if (outcome.status !== 'waiting') violations.push(`${id}: the turn is ${outcome.status}, and does not wait`)
      await Promise.all([kill(desk), kill(front)])
      desk = await start('desk')
      await told(desk)
      front = await start('front')
      await told(front)
      front.send({ answer: id })
      await told(front)
      // The call goes on now; one of the two dies in it.
      const choice = (seed * 7 + round * 5) % 3
      if (choice > 0) {
        await sleep((seed * 13 + round * 31) % 40)
        await kill(choice === 1 ? front : desk)
        if (choice === 1) {
          front = await start('front')
          await told(front)
        } else {
          desk = await start('desk')
          await told(desk)
        }
      }
      const log = await untilEnded(join(folder, 'front.db'), id)
      violations.push(...checkLog(id, log))
      diedIn.set(id, choice === 2)
      violations.push(...checkPaid(paidIn(effects), diedIn))
    }
    const paid = paidIn(effects)
    return {
      violations,
      counts: { rounds, paid: paid.length, desksKilledInTheCall: [...diedIn.values()].filter(Boolean).length },
    }
  } finally {
    await Promise.all([...children].map(kill))
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The requests that were paid, once for each time. */
function paidIn(effects: string): string[] {
  return readFileSync(effects, 'utf8').split('\n').filter(Boolean)
}

/** Each request is paid once; one whose payer was killed in the call may have been paid or not, but not twice. */
export function checkPaid(paid: readonly string[], diedIn: ReadonlyMap<string, boolean>): string[] {
  const problems: string[] = []
  for (const [id, mayFail] of diedIn) {
    const times = paid.filter((one) => one === id).length
    if (times > 1) problems.push(`${id}: the refund was paid ${times} times`)
    if (times < 1 && !mayFail) problems.push(`${id}: the answer was lost`)
  }
  const unknown = paid.filter((one) => !diedIn.has(one))
  if (unknown.length > 0) problems.push(`refunds that were not asked for: ${unknown.join(', ')}`)
  return problems
}

function told<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('a process said nothing')), patienceMs)
    child.once('message', (message) => {
      clearTimeout(timer)
      resolve(message as T)
    })
    child.once('exit', () => reject(new Error('a process ended by itself')))
  })
}

async function untilEnded(path: string, id: string): Promise<LogEvent[]> {
  const store = sqliteStore({ path })
  try {
    const until = Date.now() + patienceMs
    for (;;) {
      const log = await store.streamEvents(id)
      if (log.some(({ type }) => type === 'turn_ended') || Date.now() > until) return log
      await sleep(20)
    }
  } finally {
    await store.close()
  }
}

function checkLog(id: string, log: readonly LogEvent[]): string[] {
  const count = (type: string): number => log.filter((event) => event.type === type).length
  const problems: string[] = []
  if (count('turn_ended') !== 1) problems.push(`${id}: the turn did not end: ${log.map(({ type }) => type).join(' ')}`)
  if (count('tool_asked') !== 1) problems.push(`${id}: the question is ${count('tool_asked')} times in the log`)
  if (count('resolution') !== 1) problems.push(`${id}: there are ${count('resolution')} answers`)
  if (count('tool_result') !== 1) problems.push(`${id}: there are ${count('tool_result')} results`)
  return problems
}

await runCommand(import.meta, judged)
