import { type ChildProcess, fork } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { LogEvent } from '../../src/log/events.ts'
import { sqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { type CommandOptions, runCommand } from './harness/command.ts'
import { judge, type Verdict } from './harness/verdict.ts'

type McpKills = { readonly seed: number; readonly rounds: number }

const patienceMs = 30_000

/** For the command line: the program has stores of its own. */
async function judged({ store, seed, rounds = 40 }: CommandOptions): Promise<Verdict> {
  const find = async () => ({ violations: await mcpKills({ seed, rounds }), counts: { rounds } })
  return judge({ program: 'mcp-kills', store, seed }, [{ name: 'kills', find }])
}

/**
 * Our client and our server, each in a process of its own. Both are killed with SIGKILL between `input_required` and its answer, and one of them again right
 * after the answer was given. Every turn must end, each call must be answered once, and no refund is paid twice. Returns what went wrong.
 */
export async function mcpKills({ seed, rounds }: McpKills): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-mcp-kills-'))
  const effects = join(folder, 'effects')
  writeFileSync(effects, '')
  const violations: string[] = []
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
      const mayFail = choice === 2
      const paid = readFileSync(effects, 'utf8').split('\n').filter(Boolean)
      if (new Set(paid).size !== paid.length) violations.push(`${id}: a refund was paid twice`)
      if (!mayFail && paid.length < 1) violations.push(`${id}: the answer was lost`)
    }
    const calls = readFileSync(effects, 'utf8').split('\n').filter(Boolean)
    if (calls.length > rounds) violations.push(`${calls.length} refunds for ${rounds} requests`)
    return violations
  } finally {
    await Promise.all([...children].map(kill))
    rmSync(folder, { recursive: true, force: true })
  }
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
