import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import fc from 'fast-check'
import { afterEach, expect, test, vi } from 'vitest'
import { defineAgent } from '../../src/define/define-agent.ts'
import { createScope } from '../../src/define/scope.ts'
import { type McpHandlerOptions, mcpHandler } from '../../src/mcp/server/mcp-handler.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import type { Limits } from '../../src/server/server-options.ts'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'

vi.setConfig({ testTimeout: 30_000 })

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

type Body = string | ReadableStream<Uint8Array>

const accepted = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }

function posted(body: Body, headers: object = {}): Request {
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

const badBodies: readonly (readonly [string, () => Body, Partial<Limits>, number])[] = [
  [
    'comes too slowly',
    () => new ReadableStream({ start: (to) => to.enqueue(Buffer.from('{"jsonrpc"')) }),
    { bodyMs: 50 },
    408,
  ],
  ['is nested too deeply', () => `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, {}, 400],
  ['is too long', () => JSON.stringify({ ...say(1), more: 'x'.repeat(2_000) }), { bodyBytes: 1_000 }, 413],
  ['is not JSON', () => '{"jsonrpc', {}, 400],
]

test.each(badBodies)('a body that %s is refused within the limits of the server', async (_, body, limits, status) => {
  const { handler } = handlerOf({ limits })
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

const envelope = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'any', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
}

/** A request of the newest protocol. */
function asked(method: string, params: object): Request {
  const { name, uri } = params as { readonly name?: unknown; readonly uri?: unknown }
  const named = [name, uri].find((one) => typeof one === 'string' && /^[!-~]+$/.test(one))
  const headers = {
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': method,
    ...(named ? { 'mcp-name': named } : {}),
  }
  const message = { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: envelope } }
  return posted(JSON.stringify(message), headers)
}

test.each(['gone', '%', '%2e%2e', 'a%2Fb'])('the conversation %s that a client cannot see is not found', async (id) => {
  const { handler } = handlerOf()
  const uri = `perdure://conversations/${id}`
  expect(await (await handler(asked('resources/read', { uri }))).json()).toMatchObject({
    error: { code: -32_602, message: `Resource not found: ${uri}` },
  })
})

test('whatever a client sends, it gets an answer of the protocol', async () => {
  const { handler, runtime } = handlerOf()
  await (await runtime.conversation('c', { agent: 'desk' }).send('hi')).outcome()
  const texts = fc.constantFrom('c', 'desk', '', '..', '__proto__', '\ud800', '\u0000', 'x'.repeat(300), 'e30.e30')
  const values = fc.oneof(texts, fc.jsonValue({ maxDepth: 3 }))
  const members = (...names: readonly string[]) => fc.dictionary(fc.constantFrom(...names, '__proto__'), values)
  const args = fc.oneof(members('message', 'conversation', 'callId', 'round', 'value', 'before'), values)
  const continued = { requestState: values, inputResponses: fc.oneof(members('c/1', 'action'), values) }
  const names = fc.oneof(fc.constantFrom('desk', 'list_waiting', 'answer_waiting'), values)
  const call = fc.record({ name: names, arguments: args, ...continued }, { requiredKeys: ['name', 'arguments'] })
  const read = fc.record({
    uri: fc.oneof(
      texts.map((id) => `perdure://conversations/${id}`),
      values,
    ),
  })
  const other = fc.constantFrom('tools/list', 'resources/list', 'server/discover', 'initialize', 'unknown')
  const requests = fc.oneof(
    fc.tuple(fc.constant('tools/call'), call),
    fc.tuple(fc.constant('resources/read'), read),
    fc.tuple(other, members('cursor', 'protocolVersion')),
  )
  const answersOne = async ([method, params]: readonly [string, object]): Promise<void> => {
    const response = await handler(asked(method, params))
    expect(response.status).toBeLessThan(500)
    const text = await response.text()
    expect(JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text)).toMatchObject({ jsonrpc: '2.0' })
  }
  await fc.assert(fc.asyncProperty(requests, answersOne), { numRuns: 200, seed: 20 })
  expect(Object.prototype).not.toHaveProperty('c/1')
})
