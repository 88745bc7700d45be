import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Logger } from '../../src/base/logger.ts'
import { createScope, type Scope } from '../../src/define/scope.ts'
import { createHandler, readLocalAccess, type ServeOptions, serve } from '../../src/server/index.ts'
import { allRoutes } from '../../src/server/routes/all-routes.ts'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import type { Store } from '../../src/store/store.ts'
import type { Upkeep } from '../../src/store/upkeep.ts'
import { until } from '../stories/until.ts'
import { exported } from '../upkeep/exported.ts'
import { rawRequest } from './raw-request.ts'
import { startServer } from './start-server.ts'

const operatorRoutes = allRoutes.filter(({ isForOperators }) => isForOperators)
const isOperator = (request: Request): boolean => request.headers.get('x-operator') === 'yes'
const authenticate = (): Scope => createScope({ user: 'ada', tenant: 'acme' }) as Scope
const asOperator = { 'x-operator': 'yes' }
const linesType = { 'content-type': 'application/x-ndjson' }

/** A server whose operators say so in a header, and everybody else belongs to a tenant. */
function serveOperators(serve: ServeOptions = {}) {
  return startServer({ serve: (store) => ({ authenticate, upkeep: { store, isOperator }, ...serve }) })
}

describe('who may look after the store', () => {
  test.each([
    ['a user of a tenant', isOperator],
    ['a caller for whom isOperator returns text', (() => 'yes') as never],
    ['a caller for whom isOperator returns an object', (() => ({})) as never],
    ['a caller for whom isOperator resolves with 1', (async () => 1) as never],
    [
      'a caller for whom isOperator throws',
      () => {
        throw new Error('SELECT * FROM operators')
      },
    ],
    ['a caller for whom isOperator rejects', () => Promise.reject(new Error('SELECT * FROM operators'))],
  ])('not %s, and nothing of a body is waited for', async (_, isOneOf) => {
    const { server } = await startServer({
      serve: (store) => ({ authenticate, upkeep: { store, isOperator: isOneOf } }),
    })
    for (const { method, path, name } of operatorRoutes) {
      const body = method === 'GET' ? '' : 'Content-Type: application/x-ndjson\r\nContent-Length: 1000000\r\n'
      const head = `${method} ${path} HTTP/1.1\r\nHost: localhost\r\n${body}\r\n`
      const answer = await rawRequest(server.port, head)
      expect([name, answer.status]).toEqual([name, 403])
      expect(answer.body).toContain('operator_only')
      expect(answer.body).not.toMatch(/SELECT|operators;|\.ts:/)
    }
  })

  test('a throw of isOperator is logged, without what was sent', async () => {
    const logged: string[] = []
    const log = (text: string, details?: object) => void logged.push(`${text} ${JSON.stringify(details)}`)
    const logger: Logger = { debug: log, info: log, warn: log, error: log }
    const { server } = await startServer({
      serve: (store) => ({
        logger,
        upkeep: {
          store,
          isOperator: () => {
            throw new Error('no directory')
          },
        },
      }),
    })
    await fetch(`${server.url}/store/export?tenant=a`, { headers: { authorization: 'Bearer secret' } })
    expect(logged).toEqual([expect.stringMatching(/^isOperator threw, and the request was refused .*exportStore/)])
    expect(logged.join()).not.toMatch(/secret|tenant=a/)
  })

  test('an operator has no scope: what belongs to tenants is refused as to any stranger', async () => {
    const { server } = await serveOperators({ authenticate: () => null })
    expect((await fetch(`${server.url}/store/migration`, { headers: asOperator })).status).toBe(200)
    expect((await fetch(`${server.url}/conversations`, { headers: asOperator })).status).toBe(401)
  })

  test('the two secrets of a token file open one thing each', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'perdure-token-'))
    const localTokenFile = join(folder, 'access.json')
    const { server } = await startServer({ serve: (store) => ({ localTokenFile, upkeep: { store } }) })
    const { token, operatorToken } = await readLocalAccess(localTokenFile)
    const ask = async (path: string, secret: string) =>
      (await fetch(server.url + path, { headers: { authorization: `Bearer ${secret}` } })).status
    expect(operatorToken).not.toBe(token)
    expect([await ask('/conversations', token), await ask('/store/migration', token)]).toEqual([200, 403])
    expect([await ask('/conversations', operatorToken!), await ask('/store/migration', operatorToken!)]).toEqual([
      401, 200,
    ])
    const { server: closed } = await startServer({ serve: { localTokenFile: join(folder, 'other.json') } })
    expect(Object.keys(await readLocalAccess(join(folder, 'other.json')))).toEqual(['url', 'token'])
    await Promise.all([server, closed].map((running) => running.close({ drainMs: 0 })))
    rmSync(folder, { recursive: true })
  })

  test('and no more than that, however much authenticate and isOperator let in', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'perdure-token-'))
    const localTokenFile = join(folder, 'access.json')
    const { server } = await startServer({
      serve: (store) => ({ localTokenFile, authenticate, upkeep: { store, isOperator: () => true } }),
    })
    const { token, operatorToken } = await readLocalAccess(localTokenFile)
    const ask = async (path: string, secret: string) =>
      (await fetch(server.url + path, { headers: { authorization: `Bearer ${secret}` } })).status
    expect([await ask('/conversations', 'any'), await ask('/store/migration', 'any')]).toEqual([200, 200])
    expect([await ask('/conversations', operatorToken!), await ask('/store/migration', token)]).toEqual([401, 403])
    await server.close({ drainMs: 0 })
    rmSync(folder, { recursive: true })
  })

  test('upkeep without a way to be an operator is a mistake, as is a misspelt option of it', async () => {
    const { runtime, store } = await startServer()
    expect(() => createHandler(runtime, { authenticate, upkeep: { store } })).toThrow(/'upkeep' has no 'isOperator'/)
    await expect(serve(runtime, { port: 0, upkeep: { store } })).rejects.toThrow(/localTokenFile/)
    const misspelt = { store, isOperater: () => true } as never
    await expect(serve(runtime, { port: 0, upkeep: misspelt })).rejects.toThrow(/in 'upkeep', .*isOperater/)
    const nothing = { store: null, isOperator } as never
    await expect(serve(runtime, { port: 0, upkeep: nothing })).rejects.toThrow(/'upkeep.store' must be the store/)
    const wrong = { store, isOperator: true } as never
    await expect(serve(runtime, { port: 0, upkeep: wrong })).rejects.toThrow(/'upkeep.isOperator' must be a function/)
  })

  test('hosts, origins, unknown queries and the rate limit hold for operators as for everybody', async () => {
    const asked: unknown[] = []
    const { server } = await serveOperators({
      rateLimit: ({ scope, route }) => {
        asked.push([scope, route])
        return { allowed: route !== 'checkSchema', retryAfterMs: 1_000 } as never
      },
    })
    const url = `${server.url}/store/export`
    const host = `GET /store/export HTTP/1.1\r\nHost: evil.example\r\nX-Operator: yes\r\n\r\n`
    expect((await rawRequest(server.port, host)).status).toBe(403)
    expect((await fetch(url, { headers: { ...asOperator, origin: 'http://evil.example' } })).status).toBe(403)
    expect((await fetch(`${url}?token=x`, { headers: asOperator })).status).toBe(400)
    expect((await fetch(`${server.url}/store/migration`, { headers: asOperator })).status).toBe(429)
    expect((await fetch(`${server.url}/store/migration`)).status).toBe(429)
    expect(asked).toEqual([
      [null, 'exportStore'],
      [null, 'checkSchema'],
      [null, 'checkSchema'],
    ])
  })

  test('what is sent must be declared as lines, and what is asked must make sense', async () => {
    const { server } = await serveOperators()
    const post = (path: string, headers: Record<string, string>, body = '{}') =>
      fetch(server.url + path, { method: 'POST', headers: { ...asOperator, ...headers }, body })
    expect((await post('/store/import', { 'content-type': 'application/json' })).status).toBe(415)
    expect((await post('/store/repair', linesType)).status).toBe(415)
    expect((await post('/store/garbage', { 'content-type': 'application/json' }, '{"everything":true}')).status).toBe(
      400,
    )
    expect((await post('/store/import?skipExisting=perhaps', linesType)).status).toBe(400)
    const nothing = await post('/store/import', linesType, '')
    expect([nothing.status, await nothing.json()]).toMatchObject([422, { code: 'import_invalid' }])
    const tenant = await fetch(`${server.url}/store/export?tenant=%00`, { headers: asOperator })
    expect([tenant.status, await tenant.json()]).toMatchObject([400, { code: 'invalid_id' }])
  })

  test('the document describes what is there, and only that', async () => {
    const [open, closed] = await Promise.all([serveOperators(), startServer()])
    const paths = async (url: string) =>
      Object.keys(((await (await fetch(`${url}/openapi.json`)).json()) as never)['paths'])
    const ofStore = [...new Set(operatorRoutes.map(({ path }) => path.replace(/:(\w+)/g, '{$1}')))]
    expect(await paths(open.server.url)).toEqual(expect.arrayContaining(ofStore))
    expect((await paths(closed.server.url)).filter((path) => path.startsWith('/store'))).toEqual([])
  })
})

describe('what is streamed', () => {
  test('an export has the bytes it has in the process', async () => {
    const { server, store } = await serveOperators()
    await store.putConversation('c-1', { agent: 'helper' })
    const answer = await fetch(`${server.url}/store/export`, { headers: asOperator })
    expect(answer.headers.get('content-type')).toBe('application/x-ndjson')
    expect(answer.headers.get('perdure-conversations')).toBe('1')
    expect(await answer.text()).toBe(await exported(store))
  })

  test('a HEAD begins nothing', async () => {
    const { store, reads } = watchedStore()
    const { server } = await startServer({ serve: { upkeep: { store, isOperator } } })
    for (const path of ['/store/export', '/store/examination']) {
      const answer = await fetch(server.url + path, { method: 'HEAD', headers: asOperator })
      expect([answer.status, await answer.text()]).toEqual([200, ''])
      expect(answer.headers.get('perdure-conversations')).toBeNull()
    }
    expect(reads()).toBe(0)
  })

  test('a failure before the first line is an answer of its own, and a later one is the last line', async () => {
    const { store: failing } = watchedStore({ failAfter: 0 })
    const first = await startServer({ serve: { upkeep: { store: failing, isOperator } } })
    expect((await fetch(`${first.server.url}/store/export`, { headers: asOperator })).status).toBe(500)
    const { store: breaking } = watchedStore({ failAfter: 50 })
    const { server } = await startServer({ serve: { upkeep: { store: breaking, isOperator } } })
    const answer = await fetch(`${server.url}/store/export`, { headers: asOperator })
    expect(answer.status).toBe(200)
    const last = (await answer.text()).trimEnd().split('\n').at(-1)!
    expect(JSON.parse(last)).toMatchObject({ line: 'problem', problem: { code: 'server_failed', status: 500 } })
    expect(last).not.toContain('the disk is gone')
  })

  test('a client that goes away stops the work, and so does the end of the server', async () => {
    const { store, reads, isOpen } = watchedStore({ isEndless: true })
    const { server } = await startServer({ serve: { upkeep: { store, isOperator } } })
    const going = await ask(server.port, '/store/export')
    await once(going, 'data')
    expect(isOpen()).toBe(1)
    going.destroy()
    await until(async () => isOpen() === 0)
    const looking = await ask(server.port, '/store/examination')
    looking.resume().on('error', () => {})
    await until(async () => isOpen() === 1)
    await server.close({ drainMs: 0 })
    expect(isOpen()).toBe(0)
    expect(reads()).toBeGreaterThan(0)
  })

  test('the end of the server waits for a migration, whose client may be gone', async () => {
    let finish: (() => void) | null = null
    const migrate = async () => {
      await new Promise<void>((resolve) => {
        finish = resolve
      })
      return { found: 1, known: 2 }
    }
    const store = { ...memoryStore(), upkeep: { ...memoryStore().upkeep, migrate } as unknown as Upkeep }
    const { server } = await startServer({ serve: { upkeep: { store, isOperator } } })
    const headers = { ...asOperator, 'content-type': 'application/json' }
    const asked = fetch(`${server.url}/store/migration`, { method: 'POST', headers, body: '{}' })
    await until(() => finish !== null)
    let isClosed = false
    const closed = server.close({ drainMs: 0 }).then(() => {
      isClosed = true
    })
    await expect(asked).rejects.toThrow()
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(isClosed).toBe(false)
    finish!()
    await closed
  })

  test('a client that does not read is not read ahead for', async () => {
    const { store, reads } = watchedStore({ isEndless: true })
    const { server } = await startServer({ serve: { upkeep: { store, isOperator } } })
    const stalled = await ask(server.port, '/store/export')
    let before = -1
    // Until the buffers on the way are full.
    await until(async () => {
      const isStill = reads() === before
      before = reads()
      await new Promise((resolve) => setTimeout(resolve, 100))
      return isStill
    })
    expect(before).toBeGreaterThan(0)
    stalled.destroy()
  })

  test('there is only so much of it at once', async () => {
    const { store } = watchedStore({ isEndless: true })
    const { server } = await startServer({ serve: { limits: { upkeep: 1 }, upkeep: { store, isOperator } } })
    const first = await ask(server.port, '/store/export')
    const second = await fetch(`${server.url}/store/export`, { headers: asOperator })
    const told = { code: 'rate_limited', retryable: true, detail: expect.stringContaining('limits.upkeep is 1') }
    expect([second.status, await second.json()]).toMatchObject([429, told])
    first.destroy()
    await until(async () => (await fetch(`${server.url}/store/migration`, { headers: asOperator })).ok)
    await until(async () => {
      const again = await ask(server.port, '/store/export')
      again.destroy()
      return again.statusCode === 200
    })
  })
})

describe('a body that comes slowly', () => {
  const limits = { bodyMs: 50, bodyBytes: 500 }

  test('is cut off where it is JSON', async () => {
    const { server } = await serveOperators({ limits })
    for (const path of ['/conversations/c/messages', '/store/repair']) {
      const head = `POST ${path} HTTP/1.1\r\nHost: localhost\r\nX-Operator: yes\r\nContent-Type: application/json\r\n`
      const answer = await rawRequest(server.port, `${head}Content-Length: 100\r\n\r\n{"message":`)
      expect([answer.status, answer.body]).toEqual([408, expect.stringContaining('request_timed_out')])
    }
  })

  test('and is long is welcome where an operator imports', async () => {
    const source = memoryStore()
    for (let n = 0; n < 20; n++) await source.putConversation(`c-${n}`, { agent: 'helper' })
    const text = await exported(source)
    expect(text.length).toBeGreaterThan(limits.bodyBytes)
    const { server, store } = await serveOperators({ limits })
    const sending = httpRequest(`${server.url}/store/import`, {
      method: 'POST',
      headers: { ...asOperator, ...linesType },
    })
    const answered = once(sending, 'response')
    sending.write(text.slice(0, 1_000))
    await new Promise((resolve) => setTimeout(resolve, 4 * limits.bodyMs))
    sending.end(text.slice(1_000))
    const [answer] = (await answered) as [IncomingMessage]
    const lines = (await answer.setEncoding('utf8').toArray()).join('').trim().split('\n')
    expect(JSON.parse(lines.at(-1)!)).toEqual({ type: 'result', conversations: 20, skipped: 0 })
    expect(await exported(store)).toBe(text)
  })
})

async function ask(port: number, path: string): Promise<IncomingMessage> {
  const asking = httpRequest({ port, host: '127.0.0.1', path, headers: asOperator }).end()
  asking.on('error', () => {})
  const [answer] = (await once(asking, 'response')) as [IncomingMessage]
  return answer
}

type Watched = { readonly store: Pick<Store, 'upkeep' | 'forTenant'>; reads(): number; isOpen(): number }

/** Tells how much is read of it. Has much to tell, for ever or until it fails. */
function watchedStore({ failAfter, isEndless = false }: { failAfter?: number; isEndless?: boolean } = {}): Watched {
  let reads = 0
  let open = 0
  const real = memoryStore()
  const row = { type: 'event', row: { seq: 1, at: 1, type: 'titled', content: `{"title":"${'x'.repeat(5_000)}"}` } }
  async function* conversations() {
    for (let n = 0; isEndless || n < 100; n++) {
      if (n === failAfter) throw new Error('the disk is gone')
      yield { ...head, id: `c-${n}` }
    }
  }
  const reader = {
    now: 0,
    lastEpoch: 0,
    count: async () => 100,
    async *tenants() {
      yield 'default'
    },
    async *blobs() {},
    conversations,
    async *rows() {
      reads += 1
      await new Promise((resolve) => setImmediate(resolve))
      yield row
    },
    async *snapshots() {},
    async *orphans() {},
    summarySeqs: async () => [],
    blob: async () => null,
    conversation: async () => null,
  }
  const upkeep = {
    ...real.upkeep,
    async snapshot(work: (reader: never) => Promise<unknown>) {
      open += 1
      try {
        return await work(reader as never)
      } finally {
        open -= 1
      }
    },
  } as unknown as Upkeep
  return { store: { ...memoryStore(), upkeep }, reads: () => reads, isOpen: () => open }
}

const head = {
  ...{ kind: 'conversation', agent: 'helper', status: 'idle', settings: '{}', fsmState: null, title: null },
  ...{ parent: null, createdAt: 1, updatedAt: 1, lastSeq: 1, childOf: null, wakeAt: null, isDormant: false },
  ...{ leaseHolder: null, leaseEpoch: 0, leaseUntil: null },
}
