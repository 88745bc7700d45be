import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { inspect } from 'node:util'
import { afterEach, expect, test } from 'vitest'
import { createClient, type View } from '../../src/client/index.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { startServer } from './start-server.ts'

const closing: (() => void)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

test('views follow a turn to its end over one connection', async () => {
  const { client } = await startServer({ model: scriptedModel(() => ({ text: ['One ', 'two ', 'three.'] })) })
  const chat = client.conversation('c', { agent: 'helper' })
  const { turnId } = await chat.send('Count')
  let last: View | null = null
  for await (const view of chat.views()) {
    last = view
    if (view.log.turns.some((turn) => turn.turnId === turnId && turn.end)) break
  }
  expect(last?.messages.at(-1)).toMatchObject({ role: 'assistant', parts: [{ type: 'text', text: 'One two three.' }] })
  expect(last).toEqual(await chat.view())
})

test('a watch ends with its signal, also while it waits to come back', async () => {
  const abort = new AbortController()
  const nowhere = createClient({ url: 'http://127.0.0.1:9' }).conversation('c')
  const watching = nowhere.watch({ signal: abort.signal, backoff: { firstMs: 60_000, mostMs: 60_000 } })
  const next = watching.next()
  setTimeout(() => abort.abort(), 20)
  expect(await next).toEqual({ done: true, value: undefined })
})

test('a connection that falls silent is given up and made anew', async () => {
  let connections = 0
  const server = createServer((_, response) => {
    connections += 1
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    if (connections === 1) response.flushHeaders()
    else response.end('id: 1\ndata: {"type":"turn_started"}\n\n')
  }).listen(0, '127.0.0.1')
  closing.push(
    () => server.closeAllConnections(),
    () => void server.close(),
  )
  const port = await portOf(server)
  const chat = createClient({ url: `http://127.0.0.1:${port}` }).conversation('c')
  const reasons: unknown[] = []
  const onDisconnect = (error: unknown): void => void reasons.push(error)
  for await (const { id } of chat.watch({ silentMs: 50, backoff: { firstMs: 1 }, onDisconnect })) {
    expect(id).toBe('1')
    break
  }
  expect(connections).toBe(2)
  expect(reasons).toMatchObject([{ code: 'server_unreachable' }])
})

test('what is no answer of a Perdure server is told as unreachable', async () => {
  const server = createServer((_, response) => {
    response.writeHead(502, { 'content-type': 'text/html' })
    response.end('<h1>Bad Gateway</h1>')
  }).listen(0, '127.0.0.1')
  closing.push(() => void server.close())
  const port = await portOf(server)
  const broken = createClient({ url: `http://127.0.0.1:${port}` })
  await expect(broken.health()).rejects.toMatchObject({ code: 'server_unreachable', retryable: true })
})

test('a token that cannot be sent is told, and not shown', async () => {
  for (const options of [{ token: 'hidden\n1' }, { token: 'hidden\u20ac' }, { headers: { cookie: 'hidden\n1' } }]) {
    const failure = createClient({ url: 'http://127.0.0.1:1', ...options }).health()
    const told = await failure.catch((error: unknown) => error)
    expect(told).toMatchObject({ code: 'invalid_argument', message: expect.stringContaining('no header may have') })
    expect(inspect(told)).not.toContain('hidden')
  }
})

test('the token is asked for before each request and goes into a header', async () => {
  const seen: (string | undefined)[] = []
  const server = createServer(({ headers, url }, response) => {
    seen.push(headers.authorization, url)
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end('{"status":"ok"}')
  }).listen(0, '127.0.0.1')
  closing.push(() => void server.close())
  const port = await portOf(server)
  let n = 0
  const client = createClient({ url: `http://127.0.0.1:${port}/api/`, token: () => `t${++n}` })
  await client.health()
  await client.health()
  expect(seen).toEqual(['Bearer t1', '/api/health', 'Bearer t2', '/api/health'])
})

async function portOf(server: Server): Promise<number> {
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}
