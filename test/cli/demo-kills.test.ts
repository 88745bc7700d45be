import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readLedger } from '../../src/cli/demo/ledger.ts'
import type { LogEvent } from '../../src/log/events.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { type InTerminal, keys, startInTerminal } from './start-in-terminal.ts'

const program = resolve('src/cli/main.ts')
/** So slow that nothing ends before it is killed, and so fast that nobody waits. */
const slow = '10'
const quick = '0'

let cwd: string
let lives: InTerminal[]

beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'perdure-demo-'))
  lives = []
})

afterEach(async () => {
  for (const { pid, exited } of lives) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It has ended by itself.
    }
    await exited()
  }
  await rm(cwd, { recursive: true, force: true })
})

function live(pace: string): InTerminal {
  const life = startInTerminal([program, 'demo', '--port', '0'], { cwd, env: { PERDURE_DEMO_PACE: pace } })
  lives.push(life)
  return life
}

async function log(): Promise<LogEvent[]> {
  const store = sqliteStore({ path: join(cwd, '.perdure', 'perdure.db') })
  try {
    return await store.streamEvents('demo', {})
  } finally {
    await store.close()
  }
}

test('killed during a stream, during a tool and with an approval pending, the demo goes on where it was', {
  timeout: 120_000,
}, async () => {
  const first = live(slow)
  await first.shows('›')
  first.type(`tell me a story${keys.enter}`)
  await first.shows('Once there')
  await first.kill('SIGKILL')
  expect((await log()).map(({ type }) => type)).toEqual(['user_msg'])

  const second = live(quick)
  await second.shows('the conversation so far')
  await second.shows('you › tell me a story')
  await second.shows('nothing that mattered had happened')
  second.type(keys.ctrlD)
  expect(await second.exited()).toMatchObject({ exitCode: 0 })
  expect((await log()).map(({ type }) => type)).toEqual(['user_msg', 'assistant_msg', 'turn_ended'])

  const third = live(slow)
  await third.shows('nothing that mattered had happened')
  third.type(`report${keys.enter}`)
  await third.shows('counting Monday')
  await third.kill('SIGKILL')
  expect((await log()).at(-1)?.type).toBe('tool_started')

  const fourth = live(quick)
  await fourth.shows('? sales_report: interrupted')
  await fourth.shows('I cannot say')
  fourth.type(`refund order 1234${keys.enter}`)
  await fourth.shows('approve?')
  await fourth.kill('SIGKILL')
  expect((await log()).at(-1)?.type).toBe('suspension')

  const fifth = live(quick)
  await fifth.shows('approve?')
  await fifth.kill('SIGKILL')
  expect(readLedger(join(cwd, '.perdure', 'demo-ledger.jsonl'))).toEqual([])

  const elsewhere = await promisify(execFile)(process.execPath, [program, 'approve', 'demo', '--who', 'kim'], { cwd })
  expect(elsewhere.stdout).toContain('Approved')

  const sixth = live(quick)
  await sixth.shows('approved by kim')
  await sixth.shows('Done: 49.90 EUR went back for order 1234.')
  sixth.type(keys.ctrlD)
  expect(await sixth.exited()).toMatchObject({ exitCode: 0 })

  const events = await log()
  const calls = events.filter((event) => event.type === 'tool_call')
  const ends = events.filter((event) => event.type === 'tool_result')
  expect(calls.map(({ content }) => content.name)).toEqual(['sales_report', 'refund'])
  expect(ends[0]?.content).toMatchObject({ callId: calls[0]!.content.callId, ok: false, outcome: 'unknown' })
  expect(ends[1]?.content).toMatchObject({ callId: calls[1]!.content.callId, ok: true })
  expect(events.filter((event) => event.type === 'tool_started').map(({ content }) => content.callId)).toEqual(
    calls.map(({ content }) => content.callId),
  )
  expect(readLedger(join(cwd, '.perdure', 'demo-ledger.jsonl'))).toMatchObject([
    { callId: calls[1]!.content.callId, orderId: '1234', cents: 4990 },
  ])
  expect(events.filter((event) => event.type === 'turn_ended').map(({ content }) => content.status)).toEqual([
    'completed',
    'completed',
    'completed',
  ])
})
