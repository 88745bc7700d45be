import { mkdtempSync, rmSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { createClient } from '../../src/client/index.ts'
import { createScope, type Scope } from '../../src/define/scope.ts'
import {
  bearerToken,
  createHandler,
  isSameSecret,
  operatorToken,
  readLocalAccess,
  requireSecret,
  type ServeOptions,
  serve,
} from '../../src/server/index.ts'
import { allRoutes } from '../../src/server/routes/all-routes.ts'
import type { Store } from '../../src/store/store.ts'
import { startServer } from './start-server.ts'

const ofUser = 'correct-horse-battery'
const ofOperator = 'staple-of-an-operator'
const authenticate = (request: Request): Scope | null =>
  isSameSecret(bearerToken(request) ?? '', ofUser) ? (createScope({ user: 'ada' }) as Scope) : null

const folders: string[] = []

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})

function tokenFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-operators-'))
  folders.push(folder)
  return join(folder, 'server.json')
}

const prompts = allRoutes.filter(({ readsPrompts }) => readsPrompts)

async function withModelCall(serving: (store: Store) => ServeOptions) {
  const started = await startServer({ serve: serving, audit: 'full' })
  const turn = await started.runtime.conversation('c1', { agent: 'helper' }).send('Hi')
  await turn.outcome()
  const [modelCall] = await started.runtime.inspect('c1').modelCalls()
  const paths = prompts.map(({ path }) =>
    path.replace(':id', 'c1').replace(':turnRef', encodeURIComponent(modelCall!.turnRef)),
  )
  return { ...started, paths }
}

async function statuses(url: string, paths: readonly string[], headers: Record<string, string>): Promise<number[]> {
  return Promise.all(paths.map(async (path) => (await fetch(url + path, { headers })).status))
}

describe('what models were given', () => {
  test('is read by three routes', () => {
    expect(prompts.map(({ name }) => name)).toEqual(['listModelCalls', 'getModelCall', 'explainModelCall'])
  })

  test.each<[string, ServeOptions['showPrompts'], number]>([
    ['is not for users', undefined, 403],
    ['is not for users where it is said so', false, 403],
    ['is for users where the server says so', true, 200],
    ['is for those the server says', (scope) => (scope as { user?: string }).user === 'ada', 200],
    ['is not for those it does not', (scope) => (scope as { user?: string }).user === 'bob', 403],
    ['is not for those of whom it says something else than true', () => 'yes' as unknown as boolean, 403],
    [
      'is not for those of whom it throws',
      () => {
        throw new Error('no')
      },
      403,
    ],
  ])('%s', async (_, showPrompts, status) => {
    const { server, paths } = await withModelCall(() => ({
      authenticate,
      ...(showPrompts === undefined ? {} : { showPrompts }),
    }))
    const headers = { authorization: `Bearer ${ofUser}` }
    expect(await statuses(server.url, paths, headers)).toEqual(paths.map(() => status))
    expect(await statuses(server.url, paths, {})).toEqual(paths.map(() => 401))
  })

  test('is for a user who is an operator as well, and says both', async () => {
    const { server, paths } = await withModelCall((store) => ({
      authenticate,
      upkeep: { store, operatorToken: ofOperator },
    }))
    const authorization = `Bearer ${ofUser}`
    const both = { authorization, 'perdure-operator': `Bearer ${ofOperator}` }
    expect(await statuses(server.url, paths, both)).toEqual(paths.map(() => 200))
    expect(await statuses(server.url, paths, { authorization })).toEqual(paths.map(() => 403))
    const client = createClient({ url: server.url, token: ofUser, operatorToken: ofOperator })
    const [first] = await client.conversation('c1').modelCalls()
    expect(first).toMatchObject({ status: 'ok' })
  })
})

describe('a request with two identities', () => {
  const bearer = (token: string) => `Bearer ${token}`

  test.each<[string, Record<string, string>, number, number]>([
    // What is asked of the user's routes, and of the operators'.
    ['an anonymous caller', {}, 401, 403],
    ['a user', { authorization: bearer(ofUser) }, 200, 403],
    ['an operator alone', { 'perdure-operator': bearer(ofOperator) }, 401, 200],
    ['an operator where a user stands', { authorization: bearer(ofOperator) }, 401, 200],
    ['a user where an operator stands', { 'perdure-operator': bearer(ofUser) }, 401, 403],
    ['both', { authorization: bearer(ofUser), 'perdure-operator': bearer(ofOperator) }, 200, 200],
    ['both, changed over', { authorization: bearer(ofOperator), 'perdure-operator': bearer(ofUser) }, 401, 403],
    ['a user twice', { authorization: bearer(ofUser), 'perdure-operator': bearer(ofUser) }, 403, 403],
    ['an operator twice', { authorization: bearer(ofOperator), 'perdure-operator': bearer(ofOperator) }, 401, 200],
    ['a user with a guess', { authorization: bearer(ofUser), 'perdure-operator': bearer('guess') }, 403, 403],
    ['a user with an empty claim', { authorization: bearer(ofUser), 'perdure-operator': '' }, 403, 403],
    ['a user with another scheme', { authorization: bearer(ofUser), 'perdure-operator': ofOperator }, 403, 403],
  ])('%s', async (_, headers, asUser, asOperator) => {
    for (const upkeep of [
      { operatorToken: ofOperator },
      { isOperator: (request: Request) => isSameSecret(tokenOf(request), ofOperator) },
    ]) {
      const { server } = await startServer({
        serve: (store) => ({ authenticate, upkeep: { store, ...upkeep } }),
      })
      expect((await fetch(`${server.url}/conversations`, { headers })).status).toBe(asUser)
      expect((await fetch(`${server.url}/store/migration`, { headers })).status).toBe(asOperator)
    }
  })

  test('an operator token that authenticate would accept as a user has no scope', async () => {
    const lax = () => createScope({ user: 'anybody' }) as Scope
    const { server } = await startServer({
      serve: (store) => ({ authenticate: lax, upkeep: { store, operatorToken: ofOperator } }),
    })
    const headers = { authorization: bearer(ofOperator) }
    expect((await fetch(`${server.url}/conversations`, { headers })).status).toBe(401)
  })

  test('the two secrets of a token file may be brought together', async () => {
    const file = tokenFile()
    const { server } = await startServer({ serve: (store) => ({ localTokenFile: file, upkeep: { store } }) })
    const { token, operatorToken: operator } = await readLocalAccess(file)
    const ask = async (path: string, headers: Record<string, string>) =>
      (await fetch(server.url + path, { headers })).status
    const both = { authorization: bearer(token), 'perdure-operator': bearer(operator!) }
    expect(await ask('/conversations', both)).toBe(200)
    expect(await ask('/store/migration', both)).toBe(200)
    const changedOver = { authorization: bearer(operator!), 'perdure-operator': bearer(token) }
    expect(await ask('/conversations', changedOver)).toBe(401)
    expect(await ask('/store/migration', changedOver)).toBe(403)
  })

  test('an operator who acts as a user is told everything, and shares no stream with users', async () => {
    const { server, runtime } = await startServer({
      serve: (store) => ({ authenticate, upkeep: { store, operatorToken: ofOperator } }),
    })
    await (await runtime.conversation('c1', { agent: 'helper' }).send('Hi')).outcome()
    const authorization = bearer(ofUser)
    const stop = new AbortController()
    const watch = (headers: Record<string, string>) =>
      fetch(`${server.url}/conversations/c1/live`, { headers, signal: stop.signal })
    const streams = await Promise.all([
      watch({ authorization }),
      watch({ authorization }),
      watch({ authorization, 'perdure-operator': bearer(ofOperator) }),
    ])
    expect(streams.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(server.streams()).toEqual({ clients: 3, conversations: 2 })
    stop.abort()
  })

  test('is not made by a page of another origin', async () => {
    const { server } = await startServer({
      serve: (store) => ({
        authenticate,
        allowedOrigins: ['https://app.example.com'],
        upkeep: { store, operatorToken: ofOperator },
      }),
    })
    const preflight = await fetch(`${server.url}/conversations`, {
      method: 'OPTIONS',
      headers: { origin: 'https://app.example.com', 'access-control-request-method': 'GET' },
    })
    expect(preflight.headers.get('access-control-allow-headers')).not.toContain('operator')
  })
})

describe('an empty secret', () => {
  test('is the same as none', () => {
    expect(isSameSecret('', '')).toBe(false)
    expect(isSameSecret('x', '')).toBe(false)
    expect(isSameSecret('', 'x')).toBe(false)
    expect(isSameSecret('x', 'x')).toBe(true)
  })

  test.each([
    ['empty', ''],
    ['blank', '  '],
    ['missing', undefined],
  ])('is refused when it is configured: %s', async (_, value) => {
    expect(() => requireSecret('API_TOKEN', value)).toThrow(/API_TOKEN/)
    if (value === undefined) return
    const { runtime, store } = await startServer()
    const upkeep = { store, operatorToken: value }
    await expect(serve(runtime, { port: 0, upkeep })).rejects.toThrow(/operatorToken/)
    expect(() => createHandler(runtime, { authenticate, upkeep })).toThrow(/operatorToken/)
  })

  test('is refused in a token file', async () => {
    const file = tokenFile()
    for (const access of [{ token: '' }, { token: 'x', operatorToken: '' }, {}]) {
      await writeFile(file, JSON.stringify({ url: 'http://127.0.0.1:1', ...access }))
      await expect(readLocalAccess(file)).rejects.toMatchObject({ code: 'invalid_definition' })
    }
  })

  test('is not sent by a client', async () => {
    for (const tokens of [{ token: '' }, { operatorToken: () => '' }]) {
      const client = createClient({ url: 'http://127.0.0.1:1', ...tokens })
      await expect(client.health()).rejects.toMatchObject({ code: 'invalid_argument' })
    }
  })

  test('does not let in who brings none', async () => {
    const isOperator = (request: Request) => isSameSecret(operatorToken(request) ?? '', '')
    const { server } = await startServer({ serve: (store) => ({ authenticate, upkeep: { store, isOperator } }) })
    for (const value of ['', 'Bearer ', 'Bearer']) {
      const headers = { 'perdure-operator': value }
      expect((await fetch(`${server.url}/store/migration`, { headers })).status).toBe(403)
    }
  })
})

function tokenOf(request: Request): string {
  return (request.headers.has('perdure-operator') ? operatorToken(request) : bearerToken(request)) ?? ''
}
