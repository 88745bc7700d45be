import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { createScope, type Scope } from '../../src/define/scope.ts'
import { bearerToken, type ServeOptions } from '../../src/server/index.ts'
import { allRoutes } from '../../src/server/routes/all-routes.ts'
import type { Store } from '../../src/store/store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { ask, cases } from './route-cases.ts'
import { startServer } from './start-server.ts'

const authenticate = (request: Request): Scope | null => {
  const tenant = bearerToken(request)
  return tenant === null ? null : (createScope({ user: `user-of-${tenant}`, tenant }) as Scope)
}

test('every route has a case, and every case a route', () => {
  expect(Object.keys(cases).toSorted()).toEqual(allRoutes.map(({ name }) => name).toSorted())
})

test('what is for operators is marked so in the table, and nothing else is', () => {
  const marked = allRoutes.filter(({ isForOperators }) => isForOperators).map(({ name }) => name)
  expect(marked).toEqual(Object.keys(cases).filter((name) => 'isForOperators' in cases[name]!))
})

describe('what is for operators does not exist where there are none, and is refused to users of every tenant', () => {
  test.each(allRoutes.filter(({ isForOperators }) => isForOperators).map((route) => [route.name, route] as const))(
    '%s',
    async (name, route) => {
      const { body } = cases[name] as { body?: unknown }
      const without = await withTheirs()
      const nowhere = { ...route, path: '/nowhere' }
      const missing = await ask(without.server.port, 'theirs', nowhere, without.ids, body)
      expect(await ask(without.server.port, 'theirs', route, without.ids, body)).toBe(missing)
      const { server, ids } = await withTheirs((store) => ({ upkeep: { store, isOperator: () => false } }))
      const refused = await ask(server.port, 'theirs', route, ids, body)
      expect(refused).toMatch(/^HTTP 403[\s\S]*"operator_only"/)
      expect(await ask(server.port, 'mine', route, ids, body)).toBe(refused)
    },
  )
})

describe("what is another tenant's is answered byte for byte as what does not exist", () => {
  test.each(
    allRoutes
      .filter(({ name, isForOperators }) => !isForOperators && !('why' in (cases[name] ?? {})))
      .map((route) => [route.name, route] as const),
  )('%s', async (name, route) => {
    const { server, ids } = await withTheirs()
    const body = (cases[name] as { body?: unknown }).body
    const owner = await ask(server.port, 'theirs', route, ids, route.method === 'GET' ? undefined : { nonsense: 1 })
    const foreign = await ask(server.port, 'mine', route, ids, body)
    // Another tenant: the same names, and none of them exists.
    const { server: emptyServer } = await startServer({ serve: { authenticate, showPrompts: true } })
    const missing = await ask(emptyServer.port, 'mine', route, ids, body)
    expect(foreign).toBe(missing)
    // A page may resume before its first message, so there is nothing to resume.
    expect(foreign).toMatch(name === 'uiResume' ? /^HTTP 204/ : /^HTTP 404/)
    if (route.method === 'GET') expect(owner).toMatch(/^HTTP 200/)
  })
})

test('lists have nothing of other tenants', async () => {
  const { server } = await withTheirs()
  const lists = allRoutes.filter(({ name }) => ['inbox', 'listConversations', 'listSessions'].includes(name))
  for (const route of lists) {
    expect(await ask(server.port, 'mine', route, {})).toMatch(/\[\],"before":null}$/)
    const theirs = route.name === 'listSessions' ? 'session-1' : 'ticket-1'
    expect(await ask(server.port, 'theirs', route, {})).toContain(theirs)
  }
})

test('totals count nothing of other tenants', async () => {
  const { server } = await withTheirs()
  const route = allRoutes.find(({ name }) => name === 'totals')!
  const nothing = '{"conversations":{},"sessions":{},"inbox":{"waiting":0,"oldestAt":null},"isPartial":false}'
  expect(await ask(server.port, 'mine', route, {})).toContain(nothing)
  expect(await ask(server.port, 'theirs', route, {})).not.toContain(nothing)
})

test("a send or a start with another tenant's id creates something of one's own", async () => {
  const { server, ids, runtime } = await withTheirs()
  const before = await runtime.as(scopeOf('theirs')).conversation('ticket-1').events()
  for (const [name, body] of [
    ['sendMessage', { message: 'Hi', agent: 'helper' }],
    ['startFlow', { input: 1 }],
    ['uiSend', { id: 'ticket-1', messages: [uiMessage], trigger: 'submit-message', whenBusy: 'queue' }],
    ['agUiRun', { threadId: 'ticket-1', runId: 'r1', messages: [{ id: 'm2', role: 'user', content: 'Hi' }] }],
  ] as const) {
    const route = allRoutes.find((candidate) => candidate.name === name)!
    expect(await ask(server.port, 'mine', route, ids, body)).toMatch(/^HTTP 20[02]/)
  }
  expect(await runtime.as(scopeOf('theirs')).conversation('ticket-1').events()).toEqual(before)
})

test('two tenants that watch the same id see each their own', async () => {
  const { server, runtime } = await withTheirs()
  await runtime.as(scopeOf('mine')).conversation('ticket-1', { agent: 'helper' }).send('Mine alone')
  const route = allRoutes.find(({ name }) => name === 'live')!
  const ids = { conversation: 'ticket-1' }
  expect(await ask(server.port, 'theirs', route, ids)).not.toContain('Mine alone')
  expect(await ask(server.port, 'mine', route, ids)).toContain('Mine alone')
})

test("an answer to another tenant's call is an answer to nothing", async () => {
  const { server, ids } = await withTheirs()
  const part = { type: 'tool-refund', toolCallId: ids.callId, state: 'approval-responded' }
  const claim = { ...part, approval: { id: `${ids.callId}:1`, approved: true } }
  const answer = { id: ids.turnId, role: 'assistant', parts: [claim] }
  const route = allRoutes.find(({ name }) => name === 'uiSend')!
  const body = { id: 'ticket-1', messages: [answer], trigger: 'submit-message' }
  const foreign = await ask(server.port, 'mine', route, ids, body)
  const { server: emptyServer } = await startServer({ serve: { authenticate } })
  expect(foreign).toBe(await ask(emptyServer.port, 'mine', route, ids, body))
  expect(foreign).toMatch(/^HTTP 404/)
})

const uiMessage = { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Hi' }] }

function scopeOf(tenant: string): Scope {
  return createScope({ user: 'x', tenant }) as Scope
}

/** A conversation that waits and a session, both of the tenant 'theirs'. */
async function withTheirs(serve: (store: Store) => ServeOptions = () => ({})) {
  const model = scriptedModel(({ n }) => (n === 1 ? { calls: [{ tool: 'refund', args: { cents: 1 } }] } : 'Hello.'))
  const started = await startServer({
    model,
    serve: (store) => ({ authenticate, showPrompts: true, ...serve(store) }),
    audit: 'full',
  })
  const verbs = started.runtime.as(scopeOf('theirs'))
  const file = { type: 'file', mediaType: 'text/plain', data: new TextEncoder().encode('Receipt') } as const
  const turn = await verbs.conversation('ticket-1', { agent: 'helper' }).send([{ type: 'text', text: 'Go' }, file])
  const outcome = await turn.outcome()
  if (outcome.status !== 'waiting') throw new Error('the turn should wait')
  await verbs.flow('greeting', 'session-1').start('Hello')
  const [modelCall] = await verbs.inspect('ticket-1').modelCalls()
  const { turnId } = turn
  const ids = { conversation: 'ticket-1', session: 'session-1', turnId, callId: outcome.pending[0]!.callId }
  const blob = createHash('sha256').update(file.data).digest('hex')
  return { ...started, ids: { ...ids, turnRef: modelCall!.turnRef, blob } }
}
