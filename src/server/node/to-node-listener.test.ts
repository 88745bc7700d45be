import { once } from 'node:events'
import { createServer, request as httpRequest, type IncomingMessage, type RequestListener } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { toNodeListener } from './to-node-listener.ts'

const servers = new Set<ReturnType<typeof createServer>>()
afterEach(() => {
  for (const server of servers) {
    server.close()
    server.closeAllConnections()
  }
  servers.clear()
})

async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  servers.add(server)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('the handler sees method, address, headers and body, and its answer arrives', async () => {
  const url = await listen(
    toNodeListener(async (request) =>
      Response.json(
        { method: request.method, url: request.url, kind: request.headers.get('x-kind'), body: await request.text() },
        { status: 201, headers: { 'x-answer': 'yes' } },
      ),
    ),
  )
  const response = await fetch(`${url}/a?b=1`, { method: 'POST', headers: { 'x-kind': 'test' }, body: 'hello' })
  expect([response.status, response.headers.get('x-answer')]).toEqual([201, 'yes'])
  expect(await response.json()).toEqual({ method: 'POST', url: `${url}/a?b=1`, kind: 'test', body: 'hello' })
})

test('each piece of a stream arrives when it is written', async () => {
  const pieces = new TransformStream<Uint8Array, Uint8Array>()
  const writer = pieces.writable.getWriter()
  const url = await listen(toNodeListener(() => new Response(pieces.readable)))
  const reader = (await fetch(url)).body!.getReader()
  for (const piece of ['one', 'two', 'three']) {
    void writer.write(new TextEncoder().encode(piece))
    expect(new TextDecoder().decode((await reader.read()).value)).toBe(piece)
  }
  await writer.close()
  expect((await reader.read()).done).toBe(true)
})

test('a client that goes away aborts the request and cancels the stream', async () => {
  const isAborted = Promise.withResolvers<void>()
  const isCancelled = Promise.withResolvers<void>()
  const url = await listen(
    toNodeListener((request) => {
      request.signal.addEventListener('abort', () => isAborted.resolve())
      const body = new ReadableStream({
        start: (controller) => controller.enqueue(new TextEncoder().encode('first')),
        cancel: () => isCancelled.resolve(),
      })
      return new Response(body)
    }),
  )
  const leaving = new AbortController()
  const response = await fetch(url, { signal: leaving.signal })
  await response.body!.getReader().read()
  leaving.abort()
  await Promise.all([isAborted.promise, isCancelled.promise])
})

test('a client that goes away before there is an answer aborts the request', async () => {
  const isAborted = Promise.withResolvers<void>()
  const isAsked = Promise.withResolvers<void>()
  const url = await listen(
    toNodeListener(async (request) => {
      isAsked.resolve()
      await once(request.signal, 'abort')
      isAborted.resolve()
      return new Response(null)
    }),
  )
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.write('GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n')
  await isAsked.promise
  socket.destroy()
  await isAborted.promise
})

test('a stream is read no faster than the client reads', async () => {
  let read = 0
  const piece = new Uint8Array(64 * 1024)
  function pull(controller: ReadableStreamDefaultController): void {
    controller.enqueue(piece)
    read += 1
  }
  const url = await listen(toNodeListener(() => new Response(new ReadableStream({ pull }))))
  const [response] = (await once(httpRequest(url).end(), 'response')) as [IncomingMessage]
  let before = -1
  // Until the buffers of both sides are full.
  for (; before !== read; await new Promise((resolve) => setTimeout(resolve, 200))) before = read
  const whenFull = read
  expect(whenFull).toBeLessThan(1_000)
  response.on('data', () => {})
  while (read < whenFull + 100) await new Promise((resolve) => setTimeout(resolve, 10))
  response.destroy()
})

test('a path that a framework has cut off is there again, and a body that it has read', async () => {
  const listener = toNodeListener(async (request) =>
    Response.json([new URL(request.url).pathname, await request.json()]),
  )
  const url = await listen((incoming, outgoing) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk) => chunks.push(chunk))
    incoming.on('end', () => {
      const parsed = { originalUrl: incoming.url, body: JSON.parse(String(Buffer.concat(chunks))) }
      listener(Object.assign(incoming, parsed, { url: '/cut' }), outgoing)
    })
  })
  const response = await fetch(`${url}/api/whole`, { method: 'POST', body: '{"said": "hello"}' })
  expect(await response.json()).toEqual(['/api/whole', { said: 'hello' }])
})

test('a handler that throws is answered with 500, and later requests are answered', async () => {
  let requests = 0
  const url = await listen(
    toNodeListener(() => {
      if (++requests === 1) throw new Error('the secret is 42')
      return new Response('fine')
    }),
  )
  const failed = await fetch(url)
  expect([failed.status, (await failed.text()).includes('42')]).toEqual([500, false])
  expect(await (await fetch(url)).text()).toBe('fine')
})

test('an answer that something else has begun is cut off, and later requests are answered', async () => {
  let requests = 0
  const listener = toNodeListener(() => new Response('fine'))
  const url = await listen((incoming, outgoing) => {
    if (++requests === 1) outgoing.writeHead(200).write('mine')
    listener(incoming, outgoing)
  })
  await expect(fetch(url).then((response) => response.text())).rejects.toThrow()
  expect(await (await fetch(url)).text()).toBe('fine')
})

test.each([
  ['no handler', () => toNodeListener(undefined as never), 'must be what createHandler returns'],
  ['stallMs of zero', () => toNodeListener(() => new Response(), { stallMs: 0 }), "'stallMs' must be a whole number"],
  ['options that are none', () => toNodeListener(() => new Response(), 'no' as never), 'must be an object'],
])('%s is refused, and the message says so', (_, call, message) => {
  expect(call).toThrow(message)
})
