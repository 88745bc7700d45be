import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { setTimeout as wait } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { demoLives, perdureProgram } from './demo-lives.ts'

const lives = demoLives()

/** In a process group of its own, so that processes left behind can be found. */
function story(...args: string[]): ChildProcess {
  const { ANTHROPIC_API_KEY: _, OPENAI_API_KEY: __, PERDURE_BASE_URL: ___, ...env } = process.env
  return spawn(process.execPath, [perdureProgram, 'demo', ...args], {
    cwd: lives.folder(),
    env: { ...env, PERDURE_DEMO_PACE: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  })
}

function isAnybodyLeft({ pid }: ChildProcess): boolean {
  try {
    process.kill(-pid!, 0)
    return true
  } catch {
    return false
  }
}

describe('the demo without a terminal', { timeout: 60_000 }, () => {
  test('plays a story with a real kill, also beside one in a terminal, ends well, and leaves no process', async () => {
    await lives.live('quick').shows('›')
    const child = story()
    const [told, [code]] = await Promise.all([text(child.stdout!), once(child, 'close')])
    expect(code).toBe(0)
    expect(isAnybodyLeft(child)).toBe(false)
    expect(told).toMatch(/kill -9 \d+/)
    expect(told).toContain('sales_report: interrupted')
    expect(told).toContain('approved by a manager')
    expect(told).toContain('The ledger has 1 payment for this refund.')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: there must be none
    expect(told).not.toMatch(/\u001b/)
    expect(lives.ledger()).toHaveLength(1)
  })

  test('tells what came of it as JSON', async () => {
    const child = story('--json')
    const [told] = await Promise.all([text(child.stdout!), once(child, 'close')])
    expect(JSON.parse(told)).toMatchObject({ payments: [{ orderId: '1234', cents: 4990 }] })
  })

  test('ends with Ctrl-C, without a complaint', async () => {
    const child = story()
    await once(child.stdout!, 'data')
    process.kill(child.pid!, 'SIGINT')
    const [, [code]] = await Promise.all([text(child.stdout!), once(child, 'close')])
    expect(code).toBe(130)
    expect(isAnybodyLeft(child)).toBe(false)
  })

  test('takes its worker with it when it is killed itself', async () => {
    const child = story()
    await once(child.stdout!, 'data')
    process.kill(child.pid!, 'SIGKILL')
    await once(child, 'exit')
    while (isAnybodyLeft(child)) await wait(20)
  })
})
