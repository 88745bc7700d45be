import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { defineAgent } from '../../src/define/define-agent.ts'
import { type McpTools, mcpTools } from '../../src/mcp/client/mcp-tools.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import type { PendingItem } from '../../src/view/view.ts'
import { pendingOf } from '../stories/pending-of.ts'
import { type Attack, attackedMethods, attackKinds, hostileAnswer } from './hostile.ts'

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
      const [item] = await pendingOf<PendingItem>(turn as never)
      expect(item?.kind).toBe('approval')
      await chat.deny(item!)
    }
  }
  const log = await chat.events()
  expect(Buffer.byteLength(JSON.stringify(log))).toBeLessThan(2_000_000)
  expect(Object.prototype).not.toHaveProperty('polluted')
  return statuses
}

/** A server that attacks over HTTP, on a real socket. */
async function serveHostile(attack: Attack): Promise<string> {
  const server = createServer((incoming, outgoing) => void answer(incoming, outgoing, attack))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  ends.push(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
}

async function answer(incoming: IncomingMessage, outgoing: ServerResponse, attack: Attack): Promise<void> {
  if (incoming.method !== 'POST') return void outgoing.writeHead(405).end()
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  const lines = hostileAnswer(JSON.parse(Buffer.concat(chunks).toString()) as never, attack)
  if (lines.length === 0) return void outgoing.writeHead(202).end()
  const isStream = attack.seed % 2 === 0 || lines.length > 1
  outgoing.on('error', () => {})
  outgoing.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' })
  for (const line of lines) {
    if (line === 'endless') return endless(outgoing)
    outgoing.write(isStream ? `event: message\ndata: ${line}\n\n` : line)
  }
  outgoing.end()
}

function endless(outgoing: ServerResponse): void {
  const chunk = 'x'.repeat(65_536)
  const more = (): void => {
    while (!outgoing.destroyed && outgoing.write(chunk));
    if (!outgoing.destroyed) outgoing.once('drain', more)
  }
  more()
}

/** Small and deterministic: the same seed makes the same attacks. */
function attacks(seed: number, count: number): Attack[] {
  let state = seed
  const next = (): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    // The low bits of such numbers repeat.
    return Math.floor(state / 65_536)
  }
  const all = attackKinds.map((kind): Attack => ({ kind, method: 'tools/list', seed: next() % 8 }))
  return [
    ...all,
    ...Array.from(
      { length: count },
      (): Attack => ({
        kind: attackKinds[next() % attackKinds.length]!,
        method: attackedMethods[next() % attackedMethods.length]!,
        seed: next() % 12,
      }),
    ),
  ]
}

describe('a hostile server costs errors of calls, bounded memory, and never the conversation', () => {
  test.each(attacks(7, 12))('over HTTP: $kind in $method (seed $seed)', async (attack) => {
    const before = process.memoryUsage().rss
    const url = await serveHostile(attack)
    expect(await survives(mcpTools({ url, allowPrivateAddresses: true }, options))).toEqual(['completed', 'completed'])
    expect(process.memoryUsage().rss - before).toBeLessThan(300 * 1024 * 1024)
  })

  test.each([
    ...['endless', 'wrong_json', 'giant_result', 'deep', 'giant_list'].map((kind) => `tools/list ${kind} 1`),
    ...['endless', 'odd_question'].map((kind) => `tools/call ${kind} 8`),
  ])('over stdio: %s', async (attack) => {
    const args = ['--disable-warning=ExperimentalWarning', join(import.meta.dirname, 'programs', 'hostile-stdio.ts')]
    const tools = mcpTools(
      { command: process.execPath, args, env: { ATTACK: attack } },
      { ...options, connectTimeoutMs: 2_000 },
    )
    expect(await survives(tools)).toEqual(['completed', 'completed'])
  })

  test('what it lists is left out with a reason', async () => {
    const reasons = async (kind: Attack['kind']) => {
      const url = await serveHostile({ kind, method: 'tools/list', seed: 1 })
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
