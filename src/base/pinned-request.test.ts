import { createServer, type Server } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { guardedFetch, isPrivateAddress, pinnedPost, type Resolve } from './pinned-request.ts'

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.closeAllConnections()
})

type Seen = { readonly host: string | undefined; readonly url: string | undefined }

async function listen(answer: { status?: number; headers?: Record<string, string>; body?: string | null } = {}) {
  const seen: Seen[] = []
  const server = createServer((request, response) => {
    seen.push({ host: request.headers.host, url: request.url })
    request.resume()
    if (answer.body === null) return
    response.writeHead(answer.status ?? 200, answer.headers).end(answer.body ?? 'ok')
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  server.unref()
  return { seen, port: (server.address() as AddressInfo).port }
}

const post = (url: string, resolve?: Resolve, allowPrivate = true, signal = new AbortController().signal) =>
  pinnedPost({ url: new URL(url), headers: {}, body: '{}', signal, allowPrivate, maxBytes: 10 }, resolve)

test('the name is resolved once, and the connection goes to what was checked, under the name', async () => {
  const { seen, port } = await listen()
  const asked: string[] = []
  const resolve: Resolve = async (host) => {
    asked.push(host)
    return [{ address: '127.0.0.1', family: 4 }]
  }
  expect(await post(`http://hooks.example:${port}/a?b=c`, resolve)).toEqual({ status: 200, text: 'ok' })
  expect(asked).toEqual(['hooks.example'])
  expect(seen).toEqual([{ host: `hooks.example:${port}`, url: '/a?b=c' }])
})

test('a name with a private address among others is refused before anything is sent', async () => {
  const { seen, port } = await listen()
  const resolve: Resolve = async () => [
    { address: '93.184.215.14', family: 4 },
    { address: '127.0.0.1', family: 4 },
  ]
  await expect(post(`http://hooks.example:${port}/`, resolve, false)).rejects.toThrow("'hooks.example' is 127.0.0.1")
  await expect(post(`http://127.0.0.1:${port}/`, undefined, false)).rejects.toThrow('private network')
  await expect(post(`http://[::1]:${port}/`, undefined, false)).rejects.toThrow('private network')
  expect(seen).toEqual([])
})

test('a name without an address is refused', async () => {
  await expect(post('http://hooks.example/', async () => [])).rejects.toThrow("'hooks.example' has no address")
})

test('redirects are not followed', async () => {
  const target = await listen()
  const { port } = await listen({ status: 302, headers: { location: `http://127.0.0.1:${target.port}/` } })
  expect((await post(`http://127.0.0.1:${port}/`)).status).toBe(302)
  expect(target.seen).toEqual([])
})

test('no more of an answer is read than the limit', async () => {
  const { port } = await listen({ body: 'x'.repeat(100_000) })
  expect((await post(`http://127.0.0.1:${port}/`)).text).toBe('x'.repeat(10))
})

test('an answer that does not end is read up to the limit, and let go of', async () => {
  const isGone = Promise.withResolvers<void>()
  const server = createServer((request, response) => {
    request.resume()
    response.on('close', () => isGone.resolve()).write('x'.repeat(20))
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  expect((await post(`http://127.0.0.1:${port}/`)).text).toBe('x'.repeat(10))
  await isGone.promise
})

test('a receiver that does not answer is given up with the signal', async () => {
  const { port } = await listen({ body: null })
  const signal = AbortSignal.timeout(50)
  await expect(post(`http://127.0.0.1:${port}/`, undefined, true, signal)).rejects.toThrow()
})

/** A server that answers with these bytes, and leaves the connection open. */
async function listenRaw(answer: string) {
  const connected = Promise.withResolvers<Socket>()
  const server = createTcpServer((socket) => {
    socket.on('error', () => {}).once('data', () => socket.write(answer))
    connected.resolve(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  server.unref()
  return { port: (server.address() as AddressInfo).port, connected: connected.promise }
}

test('a receiver that switches to another protocol has not answered', async () => {
  const { port } = await listenRaw('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n')
  await expect(post(`http://127.0.0.1:${port}/`)).rejects.toThrow('closed before it answered')
})

describe('a guarded fetch', () => {
  const local: Resolve = async () => [{ address: '127.0.0.1', family: 4 }]

  test('asks for the name before each request, and connects to what it checked then', async () => {
    const { seen, port } = await listen()
    const answers = ['127.0.0.1', '10.0.0.1']
    const asked: string[] = []
    const rebound: Resolve = async (host) => {
      asked.push(host)
      return [{ address: answers[asked.length - 1] ?? '169.254.169.254', family: 4 }]
    }
    const allowed = guardedFetch({ allowPrivate: true }, rebound)
    expect(await (await allowed(`http://mcp.example:${port}/a`, { method: 'POST', body: '{}' })).text()).toBe('ok')
    const refused = guardedFetch({ allowPrivate: false }, rebound)
    await expect(refused(`http://mcp.example:${port}/b`)).rejects.toThrow("'mcp.example' is 10.0.0.1")
    await expect(refused(`http://mcp.example:${port}/c`)).rejects.toThrow("'mcp.example' is 169.254.169.254")
    expect(asked).toHaveLength(3)
    expect(seen).toEqual([{ host: `mcp.example:${port}`, url: '/a' }])
  })

  test.each([600, 999])('refuses the status %s, and lets the connection go', async (status) => {
    const { port, connected } = await listenRaw(`HTTP/1.1 ${status} Odd\r\ncontent-length: 9\r\n\r\n`)
    const ended = connected.then((socket) => new Promise((resolve) => socket.once('close', resolve)))
    await expect(guardedFetch({ allowPrivate: true }, local)(`http://mcp.example:${port}/`)).rejects.toThrow(
      `the status ${status}`,
    )
    await ended
  })

  test('gives a redirect back, and does not follow it', async () => {
    const target = await listen()
    const { port } = await listen({ status: 307, headers: { location: `http://127.0.0.1:${target.port}/` } })
    const response = await guardedFetch({ allowPrivate: true }, local)(`http://mcp.example:${port}/`)
    expect([response.status, response.headers.get('location')]).toEqual([307, `http://127.0.0.1:${target.port}/`])
    expect(target.seen).toEqual([])
  })

  test('sends texts and bytes only, under the host that was asked for', async () => {
    const { seen, port } = await listen()
    const send = guardedFetch({ allowPrivate: true }, local)
    await expect(send(`http://mcp.example:${port}/`, { method: 'POST', body: new FormData() })).rejects.toThrow('bytes')
    await send(`http://mcp.example:${port}/`, { headers: { host: 'metadata.internal' } })
    expect(seen).toEqual([{ host: `mcp.example:${port}`, url: '/' }])
  })
})

describe('private addresses', () => {
  test.each([
    ...[
      '127.0.0.1',
      '10.1.2.3',
      '172.16.0.1',
      '172.31.255.255',
      '192.168.1.1',
      '169.254.169.254',
      '0.0.0.0',
      '100.64.0.1',
    ],
    ...[
      '224.0.0.1',
      '255.255.255.255',
      '198.18.0.1',
      '::',
      '::1',
      'fe80::1',
      'fe80::1%eth0',
      'fc00::1',
      'fd12::1',
      'ff02::1',
      '2001:0:4136:e378:8000:63bf:3fff:fdd2',
      '192.88.99.1',
      '3fff::1',
    ],
    ...[
      '::ffff:127.0.0.1',
      '::ffff:7f00:1',
      '::127.0.0.1',
      '64:ff9b::10.0.0.1',
      '2002:7f00:1::',
      '::ffff:169.254.169.254',
    ],
    ...['not an address', ''],
  ])('%s is one', (address) => {
    expect(isPrivateAddress(address)).toBe(true)
  })

  test.each([
    ...['8.8.8.8', '93.184.215.14', '172.15.255.255', '172.32.0.1', '192.167.255.255', '169.253.0.1', '100.128.0.1'],
    ...['2606:4700::1111', '::ffff:8.8.8.8', '64:ff9b::8.8.8.8', '2002:808:808::1'],
  ])('%s is none', (address) => {
    expect(isPrivateAddress(address)).toBe(false)
  })
})
