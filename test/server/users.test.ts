import { createHash } from 'node:crypto'
import { describe, expect, test, vi } from 'vitest'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import { createScope, type Scope } from '../../src/define/scope.ts'
import type { Authorize } from '../../src/runtime/authorize/authorize.ts'
import { bearerToken } from '../../src/server/index.ts'
import type { Route } from '../../src/server/route.ts'
import { allRoutes } from '../../src/server/routes/all-routes.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { ask, cases } from './route-cases.ts'
import { startServer } from './start-server.ts'

const userIn = (scope: Scope): string => (scope as { readonly user: string }).user

/** Two ways to say the same: each user has what they opened. */
const policies: Readonly<Record<string, Authorize>> = {
  'a predicate': ({ scope, conversation }) => conversation === null || conversation.owner === userIn(scope),
  'a filter': async ({ scope }) => ({ owner: userIn(scope) }),
}

const authenticate = (request: Request): Scope | null => {
  const user = bearerToken(request)
  return user === null ? null : scopeOf(user)
}

const named = (name: string): Route => allRoutes.find((route) => route.name === name)!
const ofUsers = allRoutes.filter(({ name, isForOperators }) => !isForOperators && !('why' in (cases[name] ?? {})))

const streamsOfTurns = ['live', 'uiResume', 'flowLive']
const sendingStreams = ['uiSend', 'agUiRun']

describe.each(Object.entries(policies))('with %s', (policy, authorize) => {
  const isJudged = policy === 'a predicate'

  describe('what another user opened is answered byte for byte as what does not exist, and stays as it was', () => {
    test.each(ofUsers.map((route) => [route.name, route] as const))('%s', async (name, route) => {
      const { server, ids, store } = await withAnns(authorize)
      const before = await logsIn(store)
      const { body } = cases[name] as { body?: unknown }
      const foreign = await ask(server.port, 'bob', route, ids, body)
      const empty = await startServer({ serve: { authenticate, showPrompts: true }, runtime: () => ({ authorize }) })
      const missing = await ask(empty.server.port, 'bob', route, ids, body)
      expect(foreign).toBe(missing)
      expect(foreign).toMatch(statusOfNothing(name))
      expect(await logsIn(store)).toEqual(before)
      if (route.method === 'GET') expect(await ask(server.port, 'ann', route, ids)).toMatch(/^HTTP 200/)
    })

    test.each(ofUsers.map((route) => [route.name, route] as const))(
      '%s, under the id of the other kind',
      async (name, route) => {
        const { server, ids } = await withAnns(authorize)
        const swapped = { ...ids, conversation: ids.session, session: ids.conversation }
        const { body } = cases[name] as { body?: unknown }
        const foreign = await ask(server.port, 'bob', route, swapped, body)
        const empty = await startServer({ serve: { authenticate, showPrompts: true }, runtime: () => ({ authorize }) })
        expect(foreign).toBe(await ask(empty.server.port, 'bob', route, swapped, body))
      },
    )
  })

  test('a send or a start under a hidden id says that the id is taken, and nothing else', async () => {
    const { server, ids, store } = await withAnns(authorize)
    const before = await logsIn(store)
    for (const [name, bodyFor] of creating) {
      const taken: string[] = []
      for (const id of [ids.conversation, ids.session]) {
        const answer = await ask(
          server.port,
          'bob',
          named(name),
          { ...ids, conversation: id, session: id },
          bodyFor(id),
        )
        expect(answer).toMatch(/^HTTP 409/)
        taken.push(answer.replaceAll(id, 'ID').replace(/content-length\n\d+/i, ''))
      }
      expect(taken[0]).toBe(taken[1])
    }
    expect(await logsIn(store)).toEqual(before)
  })

  test('a send without an agent under a hidden id is answered as under a free one', async () => {
    const { server, ids } = await withAnns(authorize)
    const body = { message: 'Hi' }
    const hidden = await ask(server.port, 'bob', named('sendMessage'), ids, body)
    const free = await ask(server.port, 'bob', named('sendMessage'), { ...ids, conversation: 'ticket-2' }, body)
    expect(hidden).toBe(free.replaceAll('ticket-2', 'ticket-1'))
  })

  test('lists have what the caller opened, and nothing else', async () => {
    const { server, runtime } = await withAnns(authorize)
    await runtime.as(scopeOf('bob')).conversation('bob-1', { agent: 'helper' }).send('Hi')
    for (const name of ['inbox', 'listConversations', 'listSessions']) {
      const [anns, bobs] = [
        await ask(server.port, 'ann', named(name), {}),
        await ask(server.port, 'bob', named(name), {}),
      ]
      expect(anns).toContain(name === 'listSessions' ? 'session-1' : 'ticket-1')
      expect(bobs).not.toMatch(/ticket-1|session-1|ann/)
    }
    expect(await ask(server.port, 'bob', named('listConversations'), {})).toContain('bob-1')
  })

  test('totals count what the caller opened, or are absent, whatever others have', async () => {
    const { server, runtime } = await withAnns(authorize)
    const empty = await startServer({ serve: { authenticate }, runtime: () => ({ authorize }) })
    for (const each of [runtime, empty.runtime]) {
      await (await each.as(scopeOf('bob')).conversation('bob-1', { agent: 'helper' }).send('Hi')).outcome()
    }
    const bobs = await ask(server.port, 'bob', named('totals'), {})
    expect(bobs).toBe(await ask(empty.server.port, 'bob', named('totals'), {}))
    const counted = '{"conversations":{"idle":1},"sessions":{},"inbox":{"waiting":0,"oldestAt":null},"isPartial":false}'
    expect(bobs.endsWith(isJudged ? '\nnull' : counted), bobs).toBe(true)
    const anns = await ask(server.port, 'ann', named('totals'), {})
    expect(anns).toContain(isJudged ? '\nnull' : '"inbox":{"waiting":2,')
  })

  test('forks of a conversation are those that the caller may read', async () => {
    const { server, runtime, store } = await withAnns(authorize)
    const mine = runtime.as(scopeOf('bob')).conversation('bob-1', { agent: 'helper' })
    await (await mine.send('Hi')).outcome()
    await mine.fork({ id: 'bobs-fork' })
    await store.forTenant('acme').fork('bob-1', 'anns-fork', { owner: 'ann' })
    const forks = await ask(server.port, 'bob', named('listForks'), { conversation: 'bob-1' })
    expect(forks).toContain('bobs-fork')
    expect(forks).not.toMatch(/anns-fork|"ann"/)
  })

  test('an answer to a hidden call is an answer to nothing, also from a page of the AI SDK or a client of AG-UI', async () => {
    const { server, ids } = await withAnns(authorize)
    const part = { type: 'tool-refund', toolCallId: ids.callId, state: 'approval-responded' }
    const claim = { ...part, approval: { id: `${ids.callId}:1`, approved: true } }
    const answer = { id: ids.turnId, role: 'assistant', parts: [claim] }
    const resume = [{ interruptId: `${ids.callId}:1`, status: 'resolved', payload: { approved: true } }]
    const empty = await startServer({ serve: { authenticate }, runtime: () => ({ authorize }) })
    for (const [name, body] of [
      ['uiSend', { id: 'ticket-1', messages: [answer], trigger: 'submit-message' }],
      ['agUiRun', { threadId: 'ticket-1', runId: 'r1', messages: [], resume }],
      ['agUiRun', { threadId: 'ticket-1', runId: 'r1', messages: [] }],
    ] as const) {
      const foreign = await ask(server.port, 'bob', named(name), ids, body)
      expect(foreign).toBe(await ask(empty.server.port, 'bob', named(name), ids, body))
      expect(foreign).toMatch(/^HTTP 404/)
    }
  })
})

test('an authorize that throws is a 503 on every route that names a conversation, and tells nothing of why', async () => {
  const { server, ids } = await withAnns(({ scope }) => {
    if (userIn(scope) === 'bob') throw new Error('the table of grants is locked')
    return true
  })
  for (const route of ofUsers) {
    const answer = await ask(server.port, 'bob', route, ids, (cases[route.name] as { body?: unknown }).body)
    expect(answer, route.name).toMatch(/^HTTP 503[\s\S]*"authorize_failed"/)
    expect(answer).not.toContain('grants')
    const free = { ...ids, conversation: 'ticket-9', session: 'session-9' }
    const none = await ask(server.port, 'bob', route, free, (cases[route.name] as { body?: unknown }).body)
    expect(none, route.name).toBe(answer)
  }
})

test('an authorize that throws is a 503 on every list and live feed, and tells nothing of why', async () => {
  const { server, ids } = await withAnns(({ scope }) => {
    if (userIn(scope) === 'bob') throw new Error('the table of grants is locked')
    return true
  })
  for (const name of ['listConversations', 'listSessions', 'inbox', 'totals', 'liveTenant', 'listForks', 'live']) {
    const answer = await ask(server.port, 'bob', named(name), ids)
    expect(answer, name).toMatch(/^HTTP 503[\s\S]*"authorize_failed"/)
    expect(answer).not.toContain('grants')
  }
})

test('totals ask once, however many rows there are, where each would be judged', async () => {
  const asked: string[] = []
  const { server, store } = await withAnns(({ action }) => {
    asked.push(action)
    return true
  })
  for (let n = 0; n < 30; n++) await store.forTenant('acme').putConversation(`c${n}`, { agent: 'helper' })
  asked.length = 0
  expect(await ask(server.port, 'bob', named('totals'), {})).toMatch(/^HTTP 200[\s\S]*\nnull$/)
  expect(asked).toEqual(['list'])
})

describe('a permission that is taken away while a stream is open', () => {
  test('takes a watched conversation and its row out of the feed of the tenant, which stays open', async () => {
    const allowed = new Set(['ann', 'bob'])
    let passedMs = 0
    const clock: Clock = { ...hurried, now: () => systemClock.now() + passedMs }
    const { server, ids, runtime } = await withAnns(({ scope }) => allowed.has(userIn(scope)), clock)
    const watch = `?watch=${encodeURIComponent('{"ticket-1":null}')}`
    const streams = await Promise.all(
      ['bob', 'ann'].map((user) => openStream(server.port, user, named('liveTenant'), ids, watch)),
    )
    const [bobs, anns] = streams as [Stream, Stream]
    const anns1 = runtime.as(scopeOf('ann')).conversation('ticket-1')
    await anns1.note('before', 'shown')
    for (const stream of [bobs, anns])
      await vi.waitFor(() => expect(stream.text()).toContain('shown'), { timeout: 20_000 })
    allowed.delete('bob')
    passedMs = 31_000
    await new Promise((resolve) => setTimeout(resolve, 200))
    await anns1.note('after', 'secret-note')
    await anns1.rename('secret-title')
    for (const word of ['secret-note', 'secret-title'])
      await vi.waitFor(() => expect(anns.text()).toContain(word), { timeout: 5_000 })
    expect(bobs.text()).not.toContain('secret')
    expect(bobs.isEnded()).toBe(false)
    for (const stream of [bobs, anns]) stream.close()
  })

  test('is tried on every route that streams', () => {
    const streaming = allRoutes.filter(({ answer }) => answer.type === 'text/event-stream').map(({ name }) => name)
    expect(streaming.toSorted()).toEqual(['liveTenant', ...streamsOfTurns, ...sendingStreams].toSorted())
  })

  test.each(sendingStreams)('ends the stream of %s, and the turn goes on', async (name) => {
    const allowed = new Set(['ann', 'bob'])
    const { server, ids, runtime } = await withAnns(({ scope }) => allowed.has(userIn(scope)), hurried)
    const body = {
      uiSend: {
        id: 'slow',
        messages: [{ ...uiMessage, parts: [{ type: 'text', text: 'Slowly' }] }],
        trigger: 'submit-message',
      },
      agUiRun: { threadId: 'slow', runId: 'r1', messages: [{ id: 'm1', role: 'user', content: 'Slowly' }] },
    }[name]
    const bobs = await openStream(server.port, 'bob', named(name), ids, '', body)
    await vi.waitFor(() => expect(bobs.text()).toContain('One'), { timeout: 20_000 })
    expect(bobs.isEnded()).toBe(false)
    allowed.delete('bob')
    await bobs.ended
    expect(bobs.text()).toMatch(/There is no such conversation\."/)
    expect(await runtime.as(scopeOf('ann')).conversation('slow').view()).toMatchObject({ phase: 'running' })
  })

  test.each(streamsOfTurns)('ends %s, and leaves the streams of others open', async (name) => {
    const allowed = new Set(['ann', 'bob'])
    const authorize: Authorize = ({ scope }) => allowed.has(userIn(scope))
    const { server, ids: known, runtime } = await withAnns(authorize, hurried)
    // A turn that runs: the stream of one that waits ends by itself.
    const slow = runtime.as(scopeOf('ann')).conversation('slow', { agent: 'helper' })
    const { turnId } = await slow.send('Slowly')
    const ids = { ...known, conversation: 'slow', turnId }
    const streams = await Promise.all(['bob', 'ann'].map((user) => openStream(server.port, user, named(name), ids)))
    const [bobs, anns] = streams as [Stream, Stream]
    await new Promise((resolve) => setTimeout(resolve, 200))
    expect([bobs.isEnded(), anns.isEnded()]).toEqual([false, false])
    allowed.delete('bob')
    await bobs.ended
    expect(anns.isEnded()).toBe(false)
    const told = bobs.text()
    await runtime.as(scopeOf('ann')).conversation('slow').note('after', 'secret')
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(bobs.text()).toBe(told)
    if (name === 'live') expect(anns.text()).toContain('secret')
    anns.close()
    expect(await ask(server.port, 'bob', named(name), ids)).toMatch(statusOfNothing(name))
  })
})

/** A chat that does not exist has nothing to resume, which is no error. */
const statusOfNothing = (name: string): RegExp => (name === 'uiResume' ? /^HTTP 204/ : /^HTTP 404/)

type Stream = { text(): string; isEnded(): boolean; readonly ended: Promise<void>; close(): void }

async function openStream(
  port: number,
  user: string,
  route: Route,
  ids: Readonly<Record<string, string>>,
  query = '',
  body?: unknown,
): Promise<Stream> {
  const id = route.path.startsWith('/flows/') ? ids['session']! : ids['conversation']!
  const values: Record<string, string> = { ...ids, flow: 'greeting', agent: 'helper', id }
  const path = route.path.replaceAll(/:(\w+)/g, (_, part: string) => encodeURIComponent(values[part]!))
  const leaving = new AbortController()
  const response = await fetch(`http://127.0.0.1:${port}${path}${query}`, {
    method: route.method,
    headers: { authorization: `Bearer ${user}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: leaving.signal,
  })
  expect(response.status).toBe(200)
  let [text, isEnded] = ['', false]
  const reading = async (): Promise<void> => {
    for await (const chunk of response.body!) text += new TextDecoder().decode(chunk)
  }
  const ended = reading().then(
    () => void (isEnded = true),
    () => {},
  )
  return { text: () => text, isEnded: () => isEnded, ended, close: () => leaving.abort() }
}

/** Asks again after 50 milliseconds instead of 30 seconds. */
const hurried: Clock = {
  ...systemClock,
  after: (delayMs, callback) => systemClock.after(delayMs === 30_000 ? 50 : delayMs, callback),
}

const uiMessage = { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Hi' }] }

const creating: readonly (readonly [string, (id: string) => unknown])[] = [
  ['sendMessage', () => ({ message: 'Hi', agent: 'helper' })],
  ['sendMessage', () => ({ message: 'Hi', agent: 'helper', whenBusy: 'queue', key: 'k' })],
  ['startFlow', () => ({ input: 1 })],
  ['uiSend', (id) => ({ id, messages: [uiMessage], trigger: 'submit-message' })],
  ['agUiRun', (id) => ({ threadId: id, runId: 'r1', messages: [{ id: 'm2', role: 'user', content: 'Hi' }] })],
]

function scopeOf(user: string): Scope {
  return createScope({ user, tenant: 'acme' }) as Scope
}

type AnyStore = Awaited<ReturnType<typeof startServer>>['store']

/** Every conversation of the tenant, with its log. */
async function logsIn(store: AnyStore): Promise<unknown> {
  const tenant = store.forTenant('acme')
  const records = await tenant.listConversations()
  return Promise.all(records.map(async (record) => [record, await tenant.streamEvents(record.id)]))
}

/** A conversation that waits and a session, both opened by Ann. */
async function withAnns(authorize: Authorize, clock?: Clock) {
  const model = scriptedModel(({ n, prompt }) => {
    if (JSON.stringify(prompt).includes('Slowly')) return { text: ['One ', 'two'], delayMs: 60_000 }
    return n === 1 ? { calls: [{ tool: 'refund', args: { cents: 1 } }] } : 'Hello.'
  })
  const started = await startServer({
    model,
    serve: { authenticate, showPrompts: true },
    audit: 'full',
    runtime: () => ({ authorize, ...(clock ? { clock } : {}) }),
  })
  const verbs = started.runtime.as(scopeOf('ann'))
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
