import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { defineAgent } from '../../src/define/define-agent.ts'
import { type McpTools, mcpTools } from '../../src/mcp/client/mcp-tools.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { serveOfficial } from './official-server.ts'

vi.setConfig({ testTimeout: 90_000 })

const ends: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

// Lists are asked for again only where the server says that they changed.
const options = { name: 'shop', listedForMs: 3_600_000, connectTimeoutMs: 60_000 } as const

/** Each turn calls one tool, and then ends. */
function chatOf(tools: McpTools, tool: string) {
  ends.push(() => tools.close())
  const model = scriptedModel(({ prompt }) =>
    prompt.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ tool, args: {} }] },
  )
  const runtime = createRuntime({
    agents: [defineAgent({ name: 'desk', model, toolSources: [tools] })],
    store: memoryStore(),
  })
  ends.push(() => runtime.close({ drainMs: 0 }))
  const chat = runtime.conversation('c', { agent: 'desk' })
  /** What the model is offered at the steps of one more turn. */
  const offered = async (): Promise<string[][]> => {
    const before = model.calls.length
    expect(await (await chat.send('Go on.')).outcome()).toMatchObject({ status: 'completed' })
    return model.calls.slice(before).map((call) => (call.options.tools ?? []).map(({ name }) => name))
  }
  return { offered }
}

test('over HTTP, a server that says that its tools changed is asked again before the next turn', async () => {
  let extra: readonly string[] = []
  const served = await serveOfficial([], () => extra)
  ends.push(() => served.close())
  const tools = mcpTools({ url: served.url, allowPrivateAddresses: true }, options)
  const { offered } = chatOf(tools, 'shop__price')
  for (const step of await offered()) expect(step).not.toContain('shop__later')
  extra = ['later']
  for (const step of await offered()) expect(step).not.toContain('shop__later')
  served.sayToolsChanged()
  await expect
    .poll(async () => (await tools.list()).map(({ name }) => name), { timeout: 30_000 })
    .toContain('shop__later')
  for (const step of await offered()) expect(step).toContain('shop__later')
})

test('over stdio, tools that change within a turn are those of the next one', async () => {
  const program = join(import.meta.dirname, 'programs', 'changing-stdio.ts')
  const args = ['--disable-warning=ExperimentalWarning', '--experimental-strip-types', program]
  const tools = mcpTools({ command: process.execPath, args }, options)
  const { offered } = chatOf(tools, 'shop__grow')
  const [first, second] = await offered()
  expect([first, second].map((step) => step!.includes('shop__grown'))).toEqual([false, false])
  await expect
    .poll(async () => (await tools.list()).map(({ name }) => name), { timeout: 30_000 })
    .toContain('shop__grown')
  expect((await offered())[0]).toContain('shop__grown')
})
