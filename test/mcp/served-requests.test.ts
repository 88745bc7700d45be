import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterEach, expect, test } from 'vitest'
import { defineAgent } from '../../src/define/define-agent.ts'
import { createScope } from '../../src/define/scope.ts'
import { type McpHandlerOptions, mcpHandler } from '../../src/mcp/server/mcp-handler.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'

const ends: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

function handlerOf(options: Partial<McpHandlerOptions> = {}) {
  const agents = [defineAgent({ name: 'desk', model: scriptedModel(() => 'Hello.') })]
  const runtime = createRuntime({ agents, store: memoryStore() })
  const handler = mcpHandler(runtime, { authenticate: () => createScope({ user: 'ann' }), ...options })
  ends.push(async () => {
    await handler.close()
    await runtime.close({ drainMs: 0 })
  })
  return { handler, runtime }
}

const accepted = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }

function posted(body: BodyInit, headers: object = {}): Request {
  const init = { method: 'POST', body, headers: { ...accepted, ...headers }, duplex: 'half' }
  return new Request('http://localhost/mcp', init as RequestInit)
}

const say = (id: number) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name: 'desk', arguments: { message: 'hi' } },
})

test('a rate limit is asked for each message: many in one request are refused, and none of them is said', async () => {
  const asked: string[] = []
  const rateLimit = ({ route }: { readonly route: string }) => {
    asked.push(route)
    return { allowed: true } as const
  }
  const { handler, runtime } = handlerOf({ rateLimit })
  const many = await handler(posted(JSON.stringify([say(1), say(2), say(3)])))
  expect(many.status).toBe(400)
  expect(await many.text()).toContain('send each in a request of its own')
  const ann = runtime.as(createScope({ user: 'ann' }))
  expect(await ann.conversations()).toEqual([])
  const one = await handler(posted(JSON.stringify(say(1))))
  expect([one.status, await one.text()]).toEqual([200, expect.stringContaining('Hello.')])
  expect(asked).toEqual(['mcp', 'mcp'])
})

test.each([
  ['comes too slowly', () => new ReadableStream({ start: (to) => to.enqueue(Buffer.from('{"jsonrpc"')) }), 408],
  ['is nested too deeply', () => `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, 400],
  ['is too long', () => JSON.stringify({ ...say(1), more: 'x'.repeat(2_000) }), 413],
  ['is not JSON', () => '{"jsonrpc', 400],
] as const)('a body that %s is refused within the limits of the server', async (_, body, status) => {
  const { handler } = handlerOf({
    limits: { bodyMs: 50, bodyBytes: 1_000_000, ...(status === 413 && { bodyBytes: 1_000 }) },
  })
  expect((await handler(posted(body()))).status).toBe(status)
})

test('a page of a listed origin may send all headers that the official client sends', async () => {
  const origin = 'https://page.example'
  const { handler } = handlerOf({ allowedOrigins: [origin] })
  const sent = new Set<string>()
  const client = new Client({ name: 'page', version: '1' }, { versionNegotiation: { mode: 'auto' } })
  const fetch = (url: string | URL, init?: RequestInit) => {
    const request = new Request(url, init)
    for (const name of request.headers.keys()) sent.add(name)
    return handler(request)
  }
  const requestInit = { headers: { authorization: 'Bearer of-ann' } }
  await client.connect(new StreamableHTTPClientTransport(new URL('http://localhost/mcp'), { requestInit, fetch }))
  ends.push(() => client.close())
  await client.callTool({ name: 'desk', arguments: { message: 'hi' } })
  const preflight = await handler(new Request('http://localhost/mcp', { method: 'OPTIONS', headers: { origin } }))
  const allowed = preflight.headers.get('access-control-allow-headers')!.split(', ')
  // Browsers ask about no other header than these without `accept`.
  expect(allowed).toEqual(expect.arrayContaining([...sent].filter((name) => name !== 'accept')))
  expect(sent).toContain('mcp-method')
})
