import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Logger } from '../../src/base/logger.ts'
import { createScope, type Scope } from '../../src/define/scope.ts'
import { bearerToken, createHandler, isSameSecret, readLocalAccess, serve } from '../../src/server/index.ts'
import { rawRequest } from './raw-request.ts'
import { startServer } from './start-server.ts'

const secret = 'correct-horse-battery'
const authenticate = (request: Request): Scope | null => {
  const token = bearerToken(request)
  return token !== null && isSameSecret(token, secret) ? (createScope({ user: 'ada' }) as Scope) : null
}
const json = { 'content-type': 'application/json' }
const message = JSON.stringify({ message: 'Hi', agent: 'helper' })

describe('where it listens', () => {
  test.each(['0.0.0.0', '::', '192.168.0.1', 'example.com'])('not on %s without authenticate', async (host) => {
    const { runtime } = await startServer()
    await expect(serve(runtime, { host, port: 0 })).rejects.toMatchObject({ code: 'invalid_definition' })
  })

  test('a handler to be mounted anywhere needs authenticate', async () => {
    const { runtime } = await startServer()
    expect(() => createHandler(runtime, {})).toThrow(/authenticate/)
  })
})

describe('who may come in', () => {
  test.each([
    ['an anonymous caller', {}],
    ['a wrong token', { authorization: 'Bearer wrong' }],
    ['a prefix of the token', { authorization: `Bearer ${secret.slice(0, -1)}` }],
    ['the token and more', { authorization: `Bearer ${secret}x` }],
    ['another scheme', { authorization: `Basic ${secret}` }],
    ['a cookie', { cookie: `token=${secret}` }],
  ])('not %s', async (_, headers) => {
    const { server } = await startServer({ serve: { authenticate } })
    const answer = await fetch(`${server.url}/conversations`, { headers })
    expect(answer.status).toBe(401)
    expect(await answer.json()).toMatchObject({ code: 'unauthenticated' })
  })

  test.each([
    ['undefined', undefined],
    ['null', null],
    ['text', 'ada'],
    ['true', true],
    ['zero', 0],
  ])('not a caller for whom authenticate returns %s', async (_, scope) => {
    const { server } = await startServer({ serve: { authenticate: () => scope as never } })
    expect((await fetch(`${server.url}/conversations`)).status).toBe(401)
  })

  test('not a caller for whom authenticate throws, and the response does not say why', async () => {
    const { server } = await startServer({
      serve: {
        authenticate: () => {
          throw new Error('SELECT * FROM users')
        },
      },
    })
    const answer = await fetch(`${server.url}/conversations`)
    expect(answer.status).toBe(500)
    expect(await answer.text()).not.toMatch(/SELECT|\.ts:|users/)
  })

  test('a token in the URL is refused, also beside a right one', async () => {
    const { server } = await startServer({ serve: { authenticate } })
    const authorization = `Bearer ${secret}`
    expect((await fetch(`${server.url}/conversations?token=${secret}`)).status).toBe(401)
    expect((await fetch(`${server.url}/conversations?token=${secret}`, { headers: { authorization } })).status).toBe(
      400,
    )
    expect((await fetch(`${server.url}/conversations`, { headers: { authorization } })).status).toBe(200)
  })

  test('the rate limit is asked about everybody, also strangers', async () => {
    const asked: unknown[] = []
    const { server } = await startServer({
      serve: {
        authenticate,
        rateLimit: ({ scope, route }) => {
          asked.push([scope?.user ?? null, route])
          return { allowed: false, retryAfterMs: 1500 }
        },
      },
    })
    for (const headers of [{}, { authorization: `Bearer ${secret}` }] as Record<string, string>[]) {
      const answer = await fetch(`${server.url}/conversations`, { headers })
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '2'])
    }
    expect(asked).toEqual([
      [null, 'listConversations'],
      ['ada', 'listConversations'],
    ])
  })
})

describe('the host', () => {
  test.each([
    'evil.example',
    'evil.example:PORT',
    '127.0.0.1.evil.example',
    'localhost.evil.example:PORT',
    '0.0.0.0:PORT',
  ])('%s is not answered', async (host) => {
    const { server } = await startServer()
    const name = host.replace('PORT', String(server.port))
    const answer = await rawRequest(server.port, `GET /conversations HTTP/1.1\r\nHost: ${name}\r\n\r\n`)
    expect(answer.status).toBe(403)
    expect(answer.body).toContain('host_not_allowed')
  })

  test.each(['127.0.0.1:PORT', 'localhost:PORT', 'LOCALHOST', '[::1]:PORT'])('%s is', async (host) => {
    const { server } = await startServer()
    const name = host.replace('PORT', String(server.port))
    const answer = await rawRequest(server.port, `GET /conversations HTTP/1.1\r\nHost: ${name}\r\n\r\n`)
    expect(answer.status).toBe(200)
  })

  test('names that are listed are, and then no others', async () => {
    const { server } = await startServer({ serve: { allowedHosts: ['agents.example.com'] } })
    const ask = (host: string) => rawRequest(server.port, `GET /health HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
    expect((await ask('agents.example.com')).status).toBe(200)
    expect((await ask('agents.example.com:8443')).status).toBe(200)
    expect((await ask('localhost')).status).toBe(403)
  })

  test('a forwarded host is not believed', async () => {
    const { server } = await startServer()
    const answer = await rawRequest(
      server.port,
      'GET /conversations HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: localhost\r\n\r\n',
    )
    expect(answer.status).toBe(403)
  })
})

describe('pages of other origins', () => {
  test.each([
    'http://evil.example',
    'null',
    'http://localhost:1',
    'https://127.0.0.1',
    'http://127.0.0.1.evil.example',
  ])('%s may neither read nor write', async (origin) => {
    const { server, client } = await startServer()
    const write = await fetch(`${server.url}/conversations/c/messages`, {
      method: 'POST',
      headers: { ...json, origin },
      body: message,
    })
    expect([write.status, write.headers.get('access-control-allow-origin')]).toEqual([403, null])
    expect((await fetch(`${server.url}/conversations`, { headers: { origin } })).status).toBe(403)
    expect((await client.conversations()).conversations).toEqual([])
  })

  test('may not even embed', async () => {
    const { server } = await startServer()
    const answer = await rawRequest(
      server.port,
      `GET /conversations HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\nSec-Fetch-Site: cross-site\r\n\r\n`,
    )
    expect(answer.status).toBe(403)
  })

  test('are listed by a preflight, which lists none by default and never all', async () => {
    const { server } = await startServer({ serve: { allowedOrigins: ['https://app.example.com'] } })
    const ask = (origin: string) =>
      fetch(`${server.url}/conversations`, {
        method: 'OPTIONS',
        headers: { origin, 'access-control-request-method': 'POST' },
      })
    expect((await ask('https://evil.example')).status).toBe(403)
    const allowed = await ask('https://app.example.com')
    expect(allowed.headers.get('access-control-allow-origin')).toBe('https://app.example.com')
    expect(allowed.headers.get('vary')).toBe('origin')
    const read = await fetch(`${server.url}/conversations`, { headers: { origin: 'https://app.example.com' } })
    expect([read.status, read.headers.get('access-control-allow-origin')]).toEqual([200, 'https://app.example.com'])
  })

  test('its own page may', async () => {
    const { server } = await startServer()
    expect((await fetch(`${server.url}/conversations`, { headers: { origin: server.url } })).status).toBe(200)
  })
})

describe('what a write must look like', () => {
  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonx',
    '',
  ])('not %s', async (type) => {
    const { server, client } = await startServer()
    const answer = await fetch(`${server.url}/conversations/c/messages`, {
      method: 'POST',
      headers: { 'content-type': type },
      body: new TextEncoder().encode(message),
    })
    expect(answer.status).toBe(415)
    expect((await client.conversations()).conversations).toEqual([])
  })

  test.each([
    ['not JSON', '{"message":', 'it is not JSON'],
    ['not UTF-8', Buffer.from([0x22, 0xff, 0x22]), 'it is not UTF-8'],
    ['nested too deeply', `{"message":${'['.repeat(100_000)}`, 'nested deeper'],
    ['without what is needed', '{}', 'message'],
    ['with what is not known', '{"message":"Hi","tenant":"other"}', 'tenant'],
    ['of another type', '{"message":7}', 'message'],
    ['a list', '[]', 'object'],
    ['with a prototype', '{"message":"Hi","__proto__":{"agent":"helper"}}', '__proto__'],
  ])('%s is refused and says where', async (_, body, problem) => {
    const { server } = await startServer()
    const answer = await fetch(`${server.url}/conversations/c/messages`, { method: 'POST', headers: json, body })
    expect(answer.status).toBe(400)
    expect(answer.headers.get('content-type')).toBe('application/problem+json')
    const { code, detail } = (await answer.json()) as { code: string; detail: string }
    expect(code).toBe('invalid_request')
    expect(detail).toContain(problem)
  })

  test.each([
    ['a list of a hundred lists', { list: Array.from({ length: 100 }, () => [{}]) }],
    ['a text with a quote and a hundred brackets', { text: `"${'[{'.repeat(50)}\\` }],
  ])('%s is not deep', async (_, shallow) => {
    const { server } = await startServer()
    const body = JSON.stringify({ message: 'Hi', nothing: shallow })
    const answer = await fetch(`${server.url}/conversations/c/messages`, { method: 'POST', headers: json, body })
    const { detail } = (await answer.json()) as { detail: string }
    // It was read: what is refused is the name, not the depth.
    expect(detail).toContain('nothing')
  })

  test('a body over the limit is refused, whether it says so or not', async () => {
    const { server } = await startServer({ serve: { limits: { bodyBytes: 1000 } } })
    const url = `${server.url}/conversations/c/messages`
    const large = JSON.stringify({ message: 'x'.repeat(2000) })
    const said = await fetch(url, { method: 'POST', headers: json, body: large })
    expect([said.status, ((await said.json()) as { code: string }).code]).toEqual([413, 'request_too_large'])
    const chunks = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(large))
        controller.close()
      },
    })
    const unsaid = await fetch(url, { method: 'POST', headers: json, body: chunks, duplex: 'half' } as RequestInit)
    expect(unsaid.status).toBe(413)
  })

  test('headers and URLs over the limit are refused', async () => {
    const { server } = await startServer({ serve: { limits: { headerBytes: 2_000, urlBytes: 500 } } })
    expect((await fetch(`${server.url}/health`, { headers: { 'x-much': 'x'.repeat(4_000) } })).status).toBe(431)
    expect((await fetch(`${server.url}/conversations?before=${'x'.repeat(600)}`)).status).toBe(413)
  })
})

test('reading changes nothing', async () => {
  const { server, client, store } = await startServer({ serve: { showPrompts: true } })
  const chat = client.conversation('c', { agent: 'helper' })
  const { turnId } = await chat.send('Hi')
  await chat.outcome(turnId)
  const before = await store.streamEvents('c')
  const verbs = ['cancel', 'continue', 'fork', 'messages', 'calls/x/approve', 'calls/x/deny', 'calls/x/answer']
  for (const verb of verbs) {
    const answer = await fetch(`${server.url}/conversations/c/${verb}`)
    expect([verb, answer.status, answer.headers.get('allow')]).toEqual([verb, 405, 'POST'])
  }
  for (const place of ['', '/view', '/history', '/events', '/model-calls', '/snapshot'])
    expect((await fetch(`${server.url}/conversations/c${place}`)).status).toBe(200)
  expect(await store.streamEvents('c')).toEqual(before)
})

test('a failure of the server tells its code and nothing else, and is logged without what was sent', async () => {
  const logged: string[] = []
  const log = (text: string, details?: object) =>
    void logged.push(`${text} ${JSON.stringify(details)} ${String((details as { error?: Error })?.error)}`)
  const logger: Logger = { debug: log, info: log, warn: log, error: log }
  const { server, store } = await startServer({ serve: { authenticate, logger } })
  await store.close()
  const answer = await fetch(`${server.url}/conversations/c/events?after=1`, {
    headers: { authorization: `Bearer ${secret}` },
  })
  expect(answer.status).toBe(503)
  expect(await answer.json()).toEqual({
    type: 'urn:perdure:error:store_closed',
    title: 'store closed',
    status: 503,
    code: 'store_closed',
    detail: 'The server is shutting down. Try again.',
    retryable: true,
  })
  expect(logged.join()).toContain('/conversations/c/events')
  expect(logged.join()).not.toMatch(new RegExp(`${secret}|after=1|Bearer`))
})

test('every answer forbids sniffing, framing and keeping', async () => {
  const { server } = await startServer()
  for (const path of ['/health', '/nothing', '/conversations']) {
    const { headers } = await fetch(server.url + path)
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('access-control-allow-origin')).toBeNull()
  }
})

describe('the local token', () => {
  test('is in a file that only its owner can read, opens the server, and goes with it', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'perdure-token-'))
    const localTokenFile = join(folder, 'deep', 'access.json')
    const { server } = await startServer({ serve: { localTokenFile } })
    expect(statSync(localTokenFile).mode & 0o777).toBe(0o600)
    expect(statSync(join(folder, 'deep')).mode & 0o777).toBe(0o700)
    const { url, token } = await readLocalAccess(localTokenFile)
    expect(url).toBe(server.url)
    expect((await fetch(`${url}/conversations`)).status).toBe(401)
    const headers = { authorization: `Bearer ${token}` }
    expect((await fetch(`${url}/conversations`, { headers })).status).toBe(200)
    await server.close({ drainMs: 0 })
    expect(() => readFileSync(localTokenFile)).toThrow(/ENOENT/)
    rmSync(folder, { recursive: true })
  })

  test('stands beside authenticate', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'perdure-token-'))
    const localTokenFile = join(folder, 'access.json')
    const { server } = await startServer({ serve: { localTokenFile, authenticate } })
    const { token } = await readLocalAccess(localTokenFile)
    for (const given of [token, secret]) {
      const headers = { authorization: `Bearer ${given}` }
      expect((await fetch(`${server.url}/conversations`, { headers })).status).toBe(200)
    }
    expect((await fetch(`${server.url}/conversations`)).status).toBe(401)
    await server.close({ drainMs: 0 })
    rmSync(folder, { recursive: true })
  })
})
