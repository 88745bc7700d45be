import { Hono } from 'hono'
import { expect, test } from 'vitest'
import { createClient } from '../../src/client/index.ts'
import { createScope, type Scope } from '../../src/define/scope.ts'
import { createHandler } from '../../src/server/index.ts'
import { startServer } from './start-server.ts'

const authenticate = () => createScope({ user: 'ada' }) as Scope

test('the handler answers plain requests, without any server', async () => {
  const { runtime } = await startServer()
  const handler = createHandler(runtime, { authenticate })
  const client = createClient({
    url: 'http://localhost',
    fetch: (input, init) => handler(new Request(input as URL, init)),
  })
  const chat = client.conversation('c', { agent: 'helper' })
  const { turnId } = await chat.send('Hi')
  expect(await chat.outcome(turnId)).toMatchObject({ status: 'completed', text: 'Hello.' })
  for await (const view of chat.views()) {
    expect(view.messages).toHaveLength(2)
    break
  }
  handler.close()
})

test('an aborted signal ends a watch of a handler in the same process', async () => {
  const { runtime } = await startServer()
  const handler = createHandler(runtime, { authenticate })
  const client = createClient({
    url: 'http://localhost',
    fetch: (input, init) => handler(new Request(input as URL, init)),
  })
  const chat = client.conversation('c', { agent: 'helper' })
  await chat.outcome((await chat.send('Hi')).turnId)
  const leaving = new AbortController()
  for await (const _ of chat.watch({ signal: leaving.signal })) leaving.abort()
  handler.close()
})

test('the handler is mounted below a path of another application', async () => {
  const { runtime } = await startServer()
  const handler = createHandler(runtime, { authenticate, basePath: '/api/agents' })
  const app = new Hono()
  app.all('/api/agents/*', (context) => handler(context.req.raw))
  expect(await (await app.request('http://localhost/api/agents/health')).json()).toEqual({ status: 'ok' })
  expect((await app.request('http://localhost/api/agents/nothing')).status).toBe(404)
  const document = (await (await app.request('http://localhost/api/agents/openapi.json')).json()) as {
    servers: unknown
  }
  expect(document.servers).toEqual([{ url: '/api/agents' }])
  handler.close()
})

test.each([
  ['nothing, as from a module that is still loading', undefined, 'not undefined'],
  ['a promise of a runtime', Promise.resolve(), 'not an object'],
])('%s cannot be served, and the message says what can', (_, given, told) => {
  const message = `the first argument must be what createRuntime or holdRuntime returns, ${told}`
  expect(() => createHandler(given as never, { authenticate })).toThrow(message)
})
