import { createHash } from 'node:crypto'
import { request as httpRequest } from 'node:http'
import { describe, expect, test } from 'vitest'
import { createScope, type Scope } from '../../src/define/scope.ts'
import { bearerToken, type ServeOptions } from '../../src/server/index.ts'
import type { Route } from '../../src/server/route.ts'
import { allRoutes } from '../../src/server/routes/all-routes.ts'
import type { Store } from '../../src/store/store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { startServer } from './start-server.ts'

type Case =
  /** What the path must name, and the body that would change it. The response is the same whether it belongs to another tenant or to none. */
  | { readonly body?: unknown }
  /** What is not for users of any tenant: the answer to them is the same, whatever they ask for. */
  | { readonly isForOperators: true; readonly body?: unknown }
  /** Why the question does not arise. */
  | { readonly why: string }

/** Every route of the server. One that is missing here fails the test below. */
const cases: Readonly<Record<string, Case>> = {
  health: { why: 'it tells nothing about anybody' },
  ready: { why: 'it tells nothing about anybody' },
  openApi: { why: 'it tells nothing about anybody' },
  listConversations: { why: 'names nothing: see the test of lists' },
  inbox: { why: 'names nothing: see the test of lists' },
  sendMessage: { why: 'creates a conversation of the caller: see the test of sends' },
  startFlow: { why: 'creates a session of the caller: see the test of sends' },
  getConversation: {},
  deleteConversation: {},
  viewConversation: {},
  readHistory: {},
  readEvents: {},
  forkConversation: { body: {} },
  continueConversation: { body: {} },
  renameConversation: { body: { title: 'Refunds' } },
  turnOutcome: {},
  cancelTurn: { body: {} },
  approveCall: { body: {} },
  denyCall: { body: {} },
  answerCall: { body: { value: { text: 'x' } } },
  resolveCall: { body: { value: true } },
  extendDeadline: { body: { expiresInMs: null } },
  appendNote: { body: { name: 'rated', data: 5 } },
  live: {},
  listModelCalls: {},
  getModelCall: {},
  explainModelCall: {},
  readSnapshot: {},
  resumeFlow: { body: { value: 1 } },
  continueFlow: { body: {} },
  listFlows: { why: 'it tells which code the server has, to users of all tenants alike' },
  listSessions: { why: 'names nothing: see the test of lists' },
  flowStatus: {},
  flowOutcome: {},
  flowLive: {},
  flowRecord: {},
  forkFlow: { body: { id: 'mine' } },
  deleteFlow: {},
  readFile: {},
  listForks: {},
  readLineage: {},
  flowEvents: {},
  flowForks: {},
  flowLineage: {},
  uiSend: { why: 'creates a conversation of the caller: see the test of sends' },
  uiResume: {},
  uiMessages: {},
  uiCancel: { body: {} },
  exportStore: { isForOperators: true },
  importStore: { isForOperators: true, body: {} },
  examineStore: { isForOperators: true },
  repairStore: { isForOperators: true, body: {} },
  compareStore: { isForOperators: true, body: {} },
  unquarantine: { isForOperators: true, body: { id: 'c1' } },
  checkSchema: { isForOperators: true },
  migrateStore: { isForOperators: true, body: {} },
  collectGarbage: { isForOperators: true, body: {} },
}

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
    expect(foreign).toMatch(/^HTTP 404/)
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

test("a send or a start with another tenant's id creates something of one's own", async () => {
  const { server, ids, runtime } = await withTheirs()
  const before = await runtime.as(scopeOf('theirs')).conversation('ticket-1').events()
  for (const [name, body] of [
    ['sendMessage', { message: 'Hi', agent: 'helper' }],
    ['startFlow', { input: 1 }],
    ['uiSend', { id: 'ticket-1', messages: [uiMessage], trigger: 'submit-message', whenBusy: 'queue' }],
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

/** Everything of an answer but when it was given. */
async function ask(
  port: number,
  tenant: string,
  route: Route,
  ids: Readonly<Record<string, string>>,
  body?: unknown,
): Promise<string> {
  const isFlow = route.path.startsWith('/flows/')
  const named: Record<string, string> = {
    ...ids,
    flow: 'greeting',
    agent: 'helper',
    id: (isFlow ? ids['session'] : ids['conversation'])!,
  }
  const path = route.path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(named[name]!))
  const headers = {
    authorization: `Bearer ${tenant}`,
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  }
  return new Promise((resolve) => {
    const asking = httpRequest({ host: '127.0.0.1', port, path, method: route.method, headers }, (answer) => {
      const head = answer.rawHeaders.filter((_, index) => !/^date$/i.test(answer.rawHeaders[index - (index % 2)]!))
      let text = `HTTP ${answer.statusCode}\n${head.join('\n')}\n`
      answer.on('data', (chunk) => {
        text += String(chunk)
        // A stream would never end.
        if (/"(snapshot|suspend)"/.test(text) && text.endsWith('\n\n')) asking.destroy()
      })
      answer.on('error', () => {})
      answer.on('close', () => resolve(text))
    })
    asking.on('error', () => {})
    asking.end(body === undefined ? undefined : JSON.stringify(body))
  })
}
