import { expect, test } from 'vitest'
import type { Logger } from '../base/logger.ts'
import { silentLogger } from '../base/logger.ts'
import { type Caller, identifyCaller } from './dispatch.ts'
import type { Route } from './route.ts'
import { type ServerOptions, settingsOf } from './server-options.ts'

const route: Route = {
  name: 'look',
  method: 'GET',
  path: '/look',
  summary: '',
  answer: { status: 200, description: '' },
  handle: async () => new Response(),
}
const upkeepRoute: Route = { ...route, isForOperators: true }
const ann = { user: 'ann' }

type Asking = Partial<ServerOptions> & {
  readonly route?: Route
  readonly headers?: Record<string, string>
  readonly given?: unknown
}

/** Who it was, or the code of what refused them. */
async function identified({
  route: asked = route,
  headers = {},
  given = ann,
  ...options
}: Asking): Promise<Caller | string> {
  const settings = settingsOf({ logger: silentLogger, ...options }, (() => given) as never)
  try {
    return await identifyCaller(new Request('http://app.test/look', { headers }), asked, settings)
  } catch (error) {
    return (error as { code: string }).code
  }
}

const upkeep = { operatorToken: 'boss' } as NonNullable<ServerOptions['upkeep']>
const asBoss = { 'perdure-operator': 'Bearer boss' }

test('a public route needs no authentication', async () => {
  const unasked = () => {
    throw new Error('asked')
  }
  const isPublic = { ...route, isPublic: true }
  expect(await identified({ route: isPublic, given: null, rateLimit: unasked })).toEqual({
    scope: null,
    isOperator: false,
  })
})

test('an authenticated caller has a scope; anything but an object is refused', async () => {
  expect(await identified({})).toEqual({ scope: ann, isOperator: false })
  for (const given of [null, 'ann', true]) expect(await identified({ given })).toBe('unauthenticated')
})

test("an operator's token sent as a user's has no scope", async () => {
  expect(await identified({ upkeep, headers: { authorization: 'Bearer boss' } })).toBe('unauthenticated')
  expect(await identified({ upkeep, headers: { authorization: 'Bearer other' } })).toEqual({
    scope: ann,
    isOperator: false,
  })
})

test('a user may bring the credentials of an operator beside, and is refused when they are wrong', async () => {
  expect(await identified({ upkeep, headers: asBoss })).toEqual({ scope: ann, isOperator: true })
  expect(await identified({ upkeep, headers: { 'perdure-operator': 'Bearer wrong' } })).toBe('operator_only')
  expect(await identified({ headers: asBoss })).toBe('operator_only')
})

test('a route for operators is not there without upkeep, and is for operators alone', async () => {
  expect(await identified({ route: upkeepRoute, headers: asBoss })).toBe('route_not_found')
  expect(await identified({ route: upkeepRoute, upkeep })).toBe('operator_only')
  expect(await identified({ route: upkeepRoute, upkeep, headers: asBoss })).toEqual({ scope: null, isOperator: true })
})

test('who goes too fast is refused, a stranger before it is said that he is one', async () => {
  const asked: unknown[] = []
  const rateLimit: ServerOptions['rateLimit'] = async ({ scope, route }) => {
    asked.push([scope, route])
    return { allowed: false, retryAfterMs: 7 }
  }
  expect(await identified({ rateLimit })).toBe('rate_limited')
  expect(await identified({ rateLimit, given: null })).toBe('rate_limited')
  expect(asked).toEqual([
    [ann, 'look'],
    [null, 'look'],
  ])
  expect(await identified({ rateLimit: async () => ({ allowed: true, retryAfterMs: 0 }) })).toMatchObject({
    scope: ann,
  })
})

test('what models were given is for operators, and for those whom the server shows it', async () => {
  const prompts = { ...route, readsPrompts: true }
  expect(await identified({ route: prompts })).toBe('operator_only')
  expect(await identified({ route: prompts, upkeep, headers: asBoss })).toMatchObject({ isOperator: true })
  expect(await identified({ route: prompts, showPrompts: true })).toEqual({ scope: ann, isOperator: false })
  const isAnn = (scope: unknown) => scope === ann
  expect(await identified({ route: prompts, showPrompts: isAnn })).toEqual({ scope: ann, isOperator: false })
  expect(await identified({ route: prompts, showPrompts: isAnn, given: { user: 'bob' } })).toBe('operator_only')
})

test('a check that throws, or says anything but true, refuses, and the throw is logged', async () => {
  const lines: unknown[] = []
  const logger: Logger = { ...silentLogger, error: (message, details) => lines.push([message, details]) }
  const failure = new Error('down')
  const isOperator = () => {
    throw failure
  }
  expect(
    await identified({ upkeep: { ...upkeep, operatorToken: undefined, isOperator } as never, headers: asBoss, logger }),
  ).toBe('operator_only')
  expect(lines).toEqual([['isOperator threw, and the request was refused', { route: 'look', error: failure }]])
  const prompts = { ...route, readsPrompts: true }
  expect(await identified({ route: prompts, showPrompts: (() => 'yes') as never })).toBe('operator_only')
})
