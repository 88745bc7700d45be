import { afterEach, expect, test, vi } from 'vitest'
import { defineAgent } from '../../src/define/define-agent.ts'
import { mcpTools } from '../../src/mcp/client/mcp-tools.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'

vi.setConfig({ testTimeout: 30_000 })

const ends: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

/** A server of the older protocol, as a process, that ends after it has listed its tools. */
const leaving = `
let rest = ''
const write = (id, result) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, ...result }) + '\\n')
process.stdin.on('data', (chunk) => {
  rest += chunk
  const lines = rest.split('\\n')
  rest = lines.pop()
  for (const line of lines) {
    const { id, method, params } = JSON.parse(line)
    const { protocolVersion } = params ?? {}
    if (method === 'initialize') write(id, { result: { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'shop', version: '1' } } })
    else if (method === 'tools/list') {
      write(id, { result: { tools: [{ name: 'look', inputSchema: { type: 'object' } }] } })
      setTimeout(() => process.exit(0), 100)
    } else if (id !== undefined) write(id, { error: { code: -32601, message: 'no' } })
  }
})
`

test('a server that ends between two turns is seen to be gone, and is connected to again', async () => {
  const tools = mcpTools(
    { command: process.execPath, args: ['-e', leaving] },
    {
      ...{ name: 'shop', listedForMs: 0, retry: { baseMs: 1, maxMs: 1 } },
    },
  )
  ends.push(() => tools.close())
  const agent = defineAgent({ name: 'desk', model: scriptedModel(() => 'Done.'), toolSources: [tools] })
  const runtime = createRuntime({ agents: [agent], store: memoryStore() })
  ends.push(() => runtime.close({ drainMs: 0 }))
  const chat = runtime.conversation('c1', { agent: 'desk' })
  for (const message of ['Go on.', 'And on.']) {
    await (await chat.send(message)).outcome()
    expect(tools.status().tools).toEqual(['shop__look'])
    await expect
      .poll(() => tools.status())
      .toMatchObject({ isConnected: false, problem: expect.stringContaining('it closed the connection') })
  }
})
