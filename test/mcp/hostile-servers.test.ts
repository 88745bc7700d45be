import { join } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { defineAgent } from '../../src/define/define-agent.ts'
import { type McpTools, mcpTools } from '../../src/mcp/client/mcp-tools.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import type { PendingItem } from '../../src/view/view.ts'
import { pendingOf } from '../stories/pending-of.ts'
import { type Attack, attacksOf } from './hostile.ts'
import { serveHostile } from './serve-hostile.ts'

vi.setConfig({ testTimeout: 60_000 })

const ends: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

const options = {
  name: 'evil',
  connectTimeoutMs: 300,
  retry: { baseMs: 1, maxMs: 1 },
  defaults: { timeoutMs: 500 },
} as const

const stdio = {
  command: process.execPath,
  args: ['--disable-warning=ExperimentalWarning', join(import.meta.dirname, 'programs', 'hostile-stdio.ts')],
}

/** Two turns of an agent with these tools: each must end, or wait for a person. */
async function survives(tools: McpTools): Promise<string[]> {
  ends.push(() => tools.close())
  const model = scriptedModel(({ prompt, options: call }) => {
    if (prompt.at(-1)?.role === 'tool') return 'Done.'
    const names = (call.tools ?? []).map(({ name }) => name).slice(0, 2)
    return { calls: [...names, 'evil__act'].map((tool) => ({ tool, args: { text: 'a'.repeat(40) } })) }
  })
  const agent = defineAgent({ name: 'desk', model, toolSources: [tools] })
  const runtime = createRuntime({ agents: [agent], store: memoryStore() })
  ends.push(() => runtime.close({ drainMs: 0 }))
  const chat = runtime.conversation('c1', { agent: 'desk' })
  const statuses: string[] = []
  for (const message of ['one', 'two']) {
    const turn = await chat.send(message)
    for (;;) {
      const outcome = await turn.outcome()
      if (outcome.status !== 'waiting') {
        statuses.push(outcome.status)
        break
      }
      for (const item of await pendingOf<PendingItem>(turn as never)) {
        if (item.kind === 'approval') await chat.deny(item)
        else await chat.answer(item, { declined: true })
      }
    }
  }
  const log = await chat.events()
  expect(Buffer.byteLength(JSON.stringify(log))).toBeLessThan(2_000_000)
  expect(Object.prototype).not.toHaveProperty('polluted')
  const ended = log.flatMap((event) => (event.type === 'tool_result' ? [event.content.callId] : []))
  // However often the server answered.
  expect(new Set(ended).size).toBe(ended.length)
  expect(JSON.stringify(log)).not.toContain('second')
  return statuses
}

async function urlOf(attack: Attack): Promise<string> {
  const server = await serveHostile()
  ends.push(() => server.close())
  return server.urlOf(attack)
}

describe('a hostile server costs errors of calls, bounded memory, and never the conversation', () => {
  test.each(attacksOf(7, 12))('over HTTP: $kind in $method of the $era protocol (seed $seed)', async (attack) => {
    const before = process.memoryUsage().rss
    const url = await urlOf(attack)
    expect(await survives(mcpTools({ url, allowPrivateAddresses: true }, options))).toEqual(['completed', 'completed'])
    expect(process.memoryUsage().rss - before).toBeLessThan(300 * 1024 * 1024)
  })

  test.each([
    ...['endless', 'wrong_json', 'giant_result', 'deep', 'giant_list', 'flood_pings', 'flood_invalid'].map(
      (kind) => `tools/list ${kind} 1`,
    ),
    ...['endless', 'odd_question', 'twice'].map((kind) => `tools/call ${kind} 8 newest`),
    'server/discover flood_pings 1 newest',
  ])('over stdio: %s', async (attack) => {
    const tools = mcpTools({ ...stdio, env: { ATTACK: attack } }, { ...options, connectTimeoutMs: 2_000 })
    expect(await survives(tools)).toEqual(['completed', 'completed'])
  })

  test.each([
    ['flood_pings', 'does not read what it asks for'],
    ['flood_notifications', 'sends more messages than it may'],
    ['flood_answers', 'sends more messages than it may'],
    ['flood_invalid', 'sends more messages than it may'],
  ] as const)('one that floods (%s) is let go before its time is over', async (kind, problem) => {
    const attack = { kind, method: 'tools/list', seed: 1, era: 'older' } as const
    const env = { ATTACK: `tools/list ${kind} 1` }
    for (const server of [
      { url: await urlOf(attack), allowPrivateAddresses: true },
      { ...stdio, env },
    ]) {
      const tools = mcpTools(server, { name: 'evil', connectTimeoutMs: 50_000 })
      ends.push(() => tools.close())
      expect(await tools.list()).toEqual([])
      expect(tools.status()).toMatchObject({ isConnected: false, problem: expect.stringContaining(problem) })
    }
  })

  test('what it lists is left out with a reason', async () => {
    const reasons = async (kind: Attack['kind']) => {
      const url = await urlOf({ kind, method: 'tools/list', seed: 1, era: 'newest' })
      const tools = mcpTools({ url, allowPrivateAddresses: true }, { ...options, connectTimeoutMs: 5_000 })
      ends.push(() => tools.close())
      await tools.list()
      return tools.status()
    }
    expect((await reasons('control_names')).leftOut.join('\n')).toMatch(/control characters[\s\S]*1 to 128 characters/)
    expect((await reasons('control_names')).tools).toEqual([
      expect.stringMatching(/^evil__ok_name_with_space_[0-9a-f]{8}$/),
    ])
    expect(await reasons('same_names')).toMatchObject({
      tools: ['evil__act'],
      leftOut: [expect.stringContaining('twice'), expect.anything()],
    })
    expect((await reasons('cyclic_schema')).leftOut.join()).toContain('cannot be used')
    expect((await reasons('huge_schema')).leftOut.join()).toContain('the limit is 65536')
    expect((await reasons('giant_list')).tools.length).toBe(256)
  })
})
