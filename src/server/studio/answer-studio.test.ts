import { expect, test } from 'vitest'
import { silentLogger } from '../../base/logger.ts'
import { type ServerOptions, settingsOf } from '../server-options.ts'
import { answerStudio, type StudioDoor } from './answer-studio.ts'
import { StudioSignIn } from './studio-sign-in.ts'

type Asking = {
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly body?: unknown
  readonly options?: Partial<ServerOptions>
  readonly door?: StudioDoor | null
}

const open = (mayIssue = false): StudioDoor => ({
  signIn: new StudioSignIn({ hasOperators: true }),
  mayIssue: () => mayIssue,
})

/** What a server at `/api` answers: its JSON, or the code of what refused the request. */
async function ask(path: string, { method = 'GET', headers = {}, body, options = {}, door = null }: Asking = {}) {
  const authenticate = (request: Request) => (request.headers.get('cookie') === 'user=ann' ? { user: 'ann' } : null)
  const settings = settingsOf(
    { logger: silentLogger, studio: true, basePath: '/api', ...options },
    authenticate as never,
  )
  const request = new Request(`http://localhost${path}`, {
    method,
    headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  try {
    const response = await answerStudio(request, settings, door)
    return response && (response.status === 204 ? 204 : await response.json())
  } catch (error) {
    return (error as { code: string }).code
  }
}

const upkeep = { store: {}, isOperator: () => true } as unknown as NonNullable<ServerOptions['upkeep']>
const asAnn = { cookie: 'user=ann' }

test('a server without the option has no studio', async () => {
  expect(await ask('/api/studio/session', { options: { studio: false } })).toBe(null)
})

test.each(['/studio/session', '/api/studios', '/api', '/api/conversations'])(
  '%s is not of the studio',
  async (path) => {
    expect(await ask(path)).toBe(null)
  },
)

test('the page learns whether the server knows its caller, and nothing about anything else', async () => {
  const unknown = { isSignedIn: false, isOperator: false, hasCodes: false }
  expect(await ask('/api/studio/session')).toEqual(unknown)
  expect(await ask('/api/studio/session', { door: open() })).toEqual({ ...unknown, hasCodes: true })
  expect(await ask('/api/studio/session', { headers: asAnn })).toEqual({ ...unknown, isSignedIn: true })
  expect(await ask('/api/studio/session', { headers: asAnn, options: { upkeep } })).toEqual({
    isSignedIn: true,
    isOperator: true,
    hasCodes: false,
  })
})

test('an operator who is no user is not signed in', async () => {
  const found = await ask('/api/studio/session', { options: { upkeep } })
  expect(found).toEqual({ isSignedIn: false, isOperator: false, hasCodes: false })
})

test('a code is exchanged, and the session can be ended', async () => {
  const door = open()
  const { token, operatorToken } = (await ask('/api/studio/session', {
    method: 'POST',
    body: { code: door.signIn.issue() },
    door,
  })) as { token: string; operatorToken: string }
  expect(door.signIn.isOfUser(token)).toBe(true)
  const headers = { authorization: `Bearer ${token}`, 'perdure-operator': `Bearer ${operatorToken}` }
  expect(await ask('/api/studio/session', { method: 'DELETE', headers, door })).toBe(204)
  expect(door.signIn.isOfUser(token) || door.signIn.isOfOperator(operatorToken)).toBe(false)
})

test('a page of another origin exchanges nothing', async () => {
  const door = open()
  const body = { code: door.signIn.issue() }
  const headers = { origin: 'https://evil.example' }
  expect(await ask('/api/studio/session', { method: 'POST', body, headers, door })).toBe('origin_not_allowed')
  expect(await ask('/api/studio/session', { headers })).toBe('origin_not_allowed')
  expect(await ask('/api/studio/session', { method: 'POST', body, door })).toMatchObject({ token: expect.any(String) })
})

test.each([{}, { code: '' }, { code: 'x'.repeat(201) }, { code: 7 }, { code: 'a', more: 1 }, []])(
  'a body %j is refused',
  async (body) => {
    expect(await ask('/api/studio/session', { method: 'POST', body, door: open() })).toBe('invalid_request')
  },
)

test('a new code is only for those who may have one', async () => {
  expect(await ask('/api/studio/code', { method: 'POST', door: open() })).toBe('unauthenticated')
  expect(await ask('/api/studio/code', { method: 'POST', door: open(true) })).toEqual({ code: expect.any(String) })
  expect(await ask('/api/studio/code', { door: open(true) })).toBe('method_not_allowed')
})

test('a server without codes has neither route', async () => {
  expect(await ask('/api/studio/code', { method: 'POST' })).toBe('route_not_found')
  expect(await ask('/api/studio/session', { method: 'POST', body: { code: 'a' } })).toBe('route_not_found')
  expect(await ask('/api/studio/session', { method: 'DELETE' })).toBe('route_not_found')
})

test('the limit of the application is asked before a code is looked at', async () => {
  const door = open()
  const asked: string[] = []
  const rateLimit: ServerOptions['rateLimit'] = ({ route }) => {
    asked.push(route)
    return { allowed: false, retryAfterMs: 5 }
  }
  const given = { method: 'POST', body: { code: door.signIn.issue() }, door, options: { rateLimit } }
  expect(await ask('/api/studio/session', given)).toBe('rate_limited')
  expect(asked).toEqual(['studioSignIn'])
  expect(await ask('/api/studio/session', { ...given, options: {} })).toMatchObject({ token: expect.any(String) })
})
