import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test, vi } from 'vitest'
import type { Logger } from '../../src/base/logger.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { mcpTools } from '../../src/mcp/client/mcp-tools.ts'
import type { McpAddress, McpProcess } from '../../src/mcp/client/server-address.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { exportStore } from '../../src/upkeep/index.ts'

vi.setConfig({ testTimeout: 90_000 })

const ends: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

const token = 'sk-live-0123456789abcdef'

/** A server of the older protocol, as a process, that repeats its token wherever a server may say something. */
const repeating = `
const token = process.env.API_TOKEN
let rest = ''
const write = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n')
process.stderr.write(token)
process.stdin.on('data', (chunk) => {
  rest += chunk
  const lines = rest.split('\\n')
  rest = lines.pop()
  for (const line of lines) {
    const { id, method, params } = JSON.parse(line)
    if (method === 'initialize') write({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: token, version: token } } })
    else if (method === 'tools/list') write({ id, result: { tools: ['text', 'structure', 'error', 'refusal'].map((name) => ({ name, description: 'with ' + token, inputSchema: { type: 'object', description: token }, annotations: { readOnlyHint: true } })) } })
    else if (method === 'tools/call') {
      const { progressToken } = params._meta ?? {}
      write({ method: 'notifications/progress', params: { progressToken, progress: 1, message: token } })
      const content = [{ type: 'text', text: 'Bearer ' + token }]
      const answers = {
        text: { result: { content } },
        structure: { result: { content, structuredContent: { [token]: [token] } } },
        error: { result: { content, isError: true } },
        refusal: { error: { code: -32603, message: 'no: ' + token } },
      }
      setTimeout(() => write({ id, ...answers[params.name] }), 100)
    } else if (id !== undefined) write({ id, error: { code: -32601, message: token } })
  }
})
process.stdin.on('end', () => process.exit(0))
`

/** All that is kept and told of a turn that calls each tool: the store, the prompts, the events that are not recorded, and what is logged. */
async function allThatIsTold(server: McpProcess | McpAddress): Promise<string> {
  const told: unknown[] = []
  const log = (message: string, about?: object): void => {
    told.push(message, about, about && 'error' in about ? String(about.error) : '')
  }
  const logger: Logger = { debug: log, info: log, warn: log, error: log }
  const tools = mcpTools(server, { name: 'shop', connectTimeoutMs: 60_000, retry: { baseMs: 1, maxMs: 1 }, logger })
  ends.push(() => tools.close())
  const model = scriptedModel(({ prompt, options }) => {
    if (prompt.at(-1)?.role === 'tool') return 'Done.'
    return { calls: (options.tools ?? []).map(({ name }) => ({ tool: name, args: {} })) }
  })
  const store = memoryStore()
  const agent = defineAgent({ name: 'desk', model, toolSources: [tools], audit: 'full' })
  const runtime = createRuntime({ agents: [agent], store, logger })
  ends.push(() => runtime.close({ drainMs: 0 }))
  const chat = runtime.conversation('c', { agent: 'desk' })
  const watching = (async () => {
    for await (const event of chat.watch()) {
      told.push(event)
      if (event.type === 'phase_changed' && event.phase === 'idle') return
    }
  })()
  told.push(await (await chat.send('Go on.')).outcome(), tools.status(), model.calls)
  await watching
  await exportStore(store, async (lines) => void told.push(lines))
  return JSON.stringify(told)
}

test('the environment of a process is in nothing that is kept or told, wherever the server repeats it', async () => {
  const told = await allThatIsTold({ command: process.execPath, args: ['-e', repeating], env: { API_TOKEN: token } })
  expect(told).toContain('Bearer [redacted]')
  expect(told).toContain('no: [redacted]')
  expect(told).toContain('tool_progress')
  expect(told).not.toContain(token)
})

test('the token of an address that fails is in nothing that is kept or told', async () => {
  const fetch: McpAddress['fetch'] = async (url, init) => {
    throw new TypeError(`${url} refused ${new Headers(init?.headers).get('authorization')}`)
  }
  const told = await allThatIsTold({
    url: `https://shop.test/${token}/mcp?key=${token}`,
    headers: async () => ({ authorization: `Bearer ${token}` }),
    fetch,
  })
  expect(told).toContain('could not be listed')
  expect(told).toContain('refused [redacted]')
  expect(told).not.toContain(token)
})

async function listen(answer: RequestListener): Promise<{ readonly url: string; readonly asked: string[] }> {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(String(request.headers.authorization))
    answer(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  ends.push(async () => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, asked }
}

test.each([301, 302, 307, 308])(
  'a redirect (%i) to another origin is not followed, and gets no token',
  async (status) => {
    const other = await listen((_, response) => void response.writeHead(500).end())
    const first = await listen((_, response) => void response.writeHead(status, { location: other.url }).end())
    const headers = { authorization: `Bearer ${token}` }
    const tools = mcpTools({ url: first.url, headers, allowPrivateAddresses: true }, { name: 'shop' })
    ends.push(() => tools.close())
    expect(await tools.list()).toEqual([])
    expect(first.asked).toContain(`Bearer ${token}`)
    expect(other.asked).toEqual([])
    expect(tools.status().isConnected).toBe(false)
  },
)
