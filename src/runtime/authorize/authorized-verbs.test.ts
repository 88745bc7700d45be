import { expect, test, vi } from 'vitest'
import { type Clock, systemClock } from '../../base/clock.ts'
import { silentLogger } from '../../base/logger.ts'
import { defineAgent } from '../../define/define-agent.ts'
import { defineFlow, type Flow } from '../../define/define-flow.ts'
import { defineTool } from '../../define/define-tool.ts'
import { createScope, type Scope } from '../../define/scope.ts'
import { memoryStore } from '../../store/memory/memory-store.ts'
import { scriptedModel } from '../../testing/scripted-model.ts'
import type { Conversation, TurnHandle } from '../conversation.ts'
import { createRuntime } from '../create-runtime.ts'
import type { FlowSession } from '../flow-session.ts'
import { permissionOf } from '../permit.ts'
import type { Inspection } from '../read/inspect.ts'
import type { Verbs } from '../runtime.ts'
import { type AuthorizeAction, type AuthorizeRequest, actions } from './authorize.ts'

type Names = { readonly id: string; readonly callId: string; readonly turnId: string }
type Use<Handle> = readonly [AuthorizeAction, (handle: Handle, names: Names) => unknown]
type UsesOf<Handle, Left extends string> = { readonly [Verb in Exclude<keyof Handle, Left>]: Use<Handle> }

/** Every verb with what it is asked as. One that is added does not compile until it is here. */
const ofConversation: UsesOf<Conversation, 'id' | 'turn'> = {
  send: ['send', (chat) => chat.send('Hi')],
  retry: ['send', (chat) => chat.retry()],
  outcome: ['read', (chat) => chat.outcome()],
  cancel: ['cancel', (chat) => chat.cancel()],
  approve: ['approve', (chat, { callId }) => chat.approve(callId)],
  deny: ['deny', (chat, { callId }) => chat.deny(callId)],
  answer: ['answer', (chat, { callId }) => chat.answer(callId, 1)],
  extendDeadline: ['extendDeadline', (chat, { callId }) => chat.extendDeadline(callId, { expiresInMs: 9 })],
  note: ['note', (chat) => chat.note('seen', 1)],
  state: ['read', (chat) => chat.state()],
  setState: ['setState', (chat) => chat.setState({ a: 1 } as never)],
  view: ['read', (chat) => chat.view()],
  history: ['read', (chat) => chat.history()],
  events: ['read', (chat) => chat.events()],
  watch: ['read', (chat) => few((signal) => chat.watch({ signal }))],
  modelCalls: ['audit', (chat) => chat.modelCalls()],
  explain: ['audit', (chat) => chat.explain({ evictions: [] })],
  fork: ['fork', (chat) => chat.fork({ id: 'copy' })],
  forks: ['read', (chat) => chat.forks()],
  lineage: ['read', (chat) => chat.lineage()],
  continue: ['continue', (chat) => chat.continue()],
  detach: ['detach', (chat) => chat.detach()],
  rename: ['rename', (chat) => chat.rename('Mine')],
  delete: ['delete', (chat) => chat.delete()],
}

const ofTurn: UsesOf<TurnHandle, 'turnId'> = {
  outcome: ['read', (turn) => turn.outcome()],
  textStream: ['read', (turn) => all(turn.textStream)],
}

const ofSession: UsesOf<FlowSession<unknown>, 'id' | 'start'> = {
  resume: ['answer', (session) => session.resume(1)],
  outcome: ['read', (session) => session.outcome()],
  status: ['read', (session) => session.status()],
  pending: ['read', (session) => session.pending()],
  suspensions: ['read', (session) => session.suspensions()],
  wakeAt: ['read', (session) => session.wakeAt()],
  result: ['read', (session) => session.result()],
  record: ['read', (session) => session.record()],
  events: ['read', (session) => session.events()],
  watch: ['read', (session) => few((signal) => session.watch({ signal }))],
  fork: ['fork', (session) => session.fork('copy')],
  forks: ['read', (session) => session.forks()],
  lineage: ['read', (session) => session.lineage()],
  continue: ['continue', (session) => session.continue()],
  delete: ['delete', (session) => session.delete()],
}

const ofInspection: UsesOf<Inspection, 'ref'> = {
  record: ['read', (inspection) => inspection.record()],
  waitsFor: ['read', (inspection) => inspection.waitsFor()],
  work: ['read', (inspection) => inspection.work()],
  modelCalls: ['audit', (inspection) => inspection.modelCalls()],
  explain: ['audit', (inspection, { turnId }) => inspection.explain(turnId)],
  snapshot: ['read', (inspection) => inspection.snapshot()],
  turns: ['read', (inspection) => inspection.turns()],
  pages: ['read', (inspection) => all(inspection.pages())],
  file: ['read', (inspection) => inspection.file('0'.repeat(64))],
}

const ofRuntime: UsesOf<Verbs, 'agents' | 'conversation' | 'flow' | 'flows' | 'inspect'> = {
  resolve: ['approve', (verbs, { id, callId }) => verbs.resolve(id, callId, true)],
  conversations: ['list', (verbs) => verbs.conversations()],
  sessions: ['list', (verbs) => verbs.sessions()],
  inbox: ['list', (verbs) => verbs.inbox()],
  totals: ['list', (verbs) => verbs.totals()],
  changes: ['list', (verbs) => verbs.changes().seesAll()],
  unquarantine: ['unquarantine', (verbs, { id }) => verbs.unquarantine(id)],
}

/** Each verb of every handle, called under an id. */
const uses: readonly (readonly [string, AuthorizeAction, (verbs: Verbs, names: Names) => unknown])[] = [
  ...usesOf('conversation', ofConversation, (verbs, { id }) => verbs.conversation(id)),
  ...usesOf('turn', ofTurn, (verbs, { id, turnId }) => verbs.conversation(id).turn(turnId)),
  ...usesOf('session', ofSession, (verbs, { id }) => verbs.flow('ask', id) as FlowSession<unknown>),
  ...usesOf('inspect', ofInspection, (verbs, { id }) => verbs.inspect(id)),
  ...usesOf('runtime', ofRuntime, (verbs) => verbs),
]

function usesOf<Handle>(
  what: string,
  table: Readonly<Record<string, Use<Handle>>>,
  handleOf: (verbs: Verbs, names: Names) => Handle,
) {
  return Object.entries(table).map(([verb, [action, use]]) => {
    const call = (verbs: Verbs, names: Names): unknown => use(handleOf(verbs, names), names)
    return [`${what}.${verb}`, action, call] as const
  })
}

test.each(uses)(
  '%s is asked as %s, and on what is hidden it does what it does where there is nothing',
  async (name, action, use) => {
    const { as, asked, names, store, runtime } = await anns()
    const before = await everythingIn(store)
    const isOfSession = name.startsWith('session.')
    const hidden = isOfSession ? { ...names, id: 'session' } : names
    asked.length = 0
    const found = await settled(() => use(as('bob'), hidden), hidden.id)
    expect(asked[0]).toMatchObject({ action, scope: { user: 'bob' } })
    expect(await everythingIn(store)).toEqual(before)
    const nothing = { ...hidden, id: 'nothing' }
    const missing = await settled(() => use(as('bob'), nothing), nothing.id)
    expect(found).toEqual(missing)
    await runtime.close({ drainMs: 0 })
  },
)

test('deleting what is hidden leaves no trace', async () => {
  const { as, names, store, runtime } = await anns()
  const before = await everythingIn(store)
  expect(await as('bob').conversation(names.id).delete()).toBe(false)
  expect(await everythingIn(store)).toEqual(before)
  await runtime.close({ drainMs: 0 })
})

test('a copy gets no id of what is hidden, and a free id without more questions', async () => {
  const { as, asked, runtime } = await anns()
  const bobs = as('bob').conversation('bob')
  await expect(bobs.fork({ id: 'ann' })).rejects.toMatchObject({ code: 'conversation_exists' })
  asked.length = 0
  expect((await bobs.fork({ id: 'copy' })).id).toBe('copy')
  expect(asked.map(({ action }) => action)).toEqual(['fork'])
  await runtime.close({ drainMs: 0 })
})

test('every action is asked by a verb', () => {
  const asked = new Set<string>(uses.map(([, action]) => action))
  expect(actions.filter((action) => !asked.has(action))).toEqual(['start'])
})

test('a session that must not be started, and one that is hidden, say that the id is taken', async () => {
  const { as, asked, runtime } = await anns()
  const start = (id: string) => settled(() => as('bob').flow('ask', id).start(1), id)
  const hidden = await start('session')
  expect(hidden).toMatchObject({ error: { code: 'session_exists' } })
  expect(await start('ann')).toEqual(hidden)
  expect(asked.at(-1)).toMatchObject({ action: 'start', conversation: { id: 'ann' } })
  const denied = as('nobody').flow('ask', 'new')
  expect(await settled(() => denied.start(1), 'new')).toEqual(hidden)
  await runtime.close({ drainMs: 0 })
})

test('authorize gets the record of the conversation, and the call that is answered', async () => {
  const { as, asked, names, runtime } = await anns()
  await as('ann').conversation('ann').deny(names.callId)
  expect(asked.at(-1)).toMatchObject({
    action: 'deny',
    conversation: { id: 'ann', owner: 'ann', agent: 'helper' },
    call: { callId: names.callId, tool: 'refund', kind: 'approval', args: { cents: 1 } },
  })
  await as('ann').conversation('new', { agent: 'helper' }).send('Hi')
  expect(asked.find(({ action }) => action === 'send')).toMatchObject({ conversation: null })
  // Of a call in another conversation nothing is told.
  await settled(() => as('bob').conversation('bob').approve(names.callId), '')
  expect(asked.at(-1)).toMatchObject({ action: 'approve', conversation: { id: 'bob' } })
  expect(asked.at(-1)).not.toHaveProperty('call')
  await runtime.close({ drainMs: 0 })
})

test('an outcome that took longer than 30 seconds is told only if it may still be read', async () => {
  let [isAllowed, passedMs] = [true, 0]
  const clock = { ...systemClock, now: () => Date.now() + passedMs }
  const model = scriptedModel(() => ({ text: ['One ', 'two.'], delayMs: 50 }))
  const runtime = createRuntime({
    agents: [defineAgent({ name: 'helper', model })],
    store: memoryStore(),
    logger: silentLogger,
    clock,
    authorize: ({ action }) => isAllowed || action === 'send',
  })
  const chat = runtime.as(createScope({ user: 'ann' }) as Scope).conversation('a', { agent: 'helper' })
  for (const tookMs of [29_000, 30_000]) {
    isAllowed = true
    const turn = await chat.send('Hi')
    const telling = turn.outcome()
    await new Promise((resolve) => setTimeout(resolve, 10))
    isAllowed = false
    passedMs += tookMs
    expect(await telling).toMatchObject(
      tookMs < 30_000 ? { status: 'completed' } : { status: 'detached', turnId: turn.turnId },
    )
  }
  await runtime.close({ drainMs: 0 })
})

test('a stream of text ends when the conversation may not be read any more', async () => {
  let isAllowed = true
  // What is asked every 30 seconds is asked at once.
  const after: Clock['after'] = (ms, run) => systemClock.after(ms === 30_000 ? 5 : ms, run)
  const words = Array.from({ length: 1_000 }, (_, n) => `${n} `)
  const runtime = createRuntime({
    agents: [defineAgent({ name: 'helper', model: scriptedModel(() => ({ text: words, delayMs: 20 })) })],
    store: memoryStore(),
    logger: silentLogger,
    clock: { ...systemClock, after },
    authorize: () => isAllowed,
  })
  const chat = runtime.as(createScope({ user: 'ann' }) as Scope).conversation('a', { agent: 'helper' })
  const shown: string[] = []
  for await (const text of (await chat.send('Hi')).textStream) {
    isAllowed = false
    shown.push(text)
  }
  expect(shown[0]).toBe('0 ')
  expect(shown.length).toBeLessThan(words.length)
  await runtime.close({ drainMs: 0 })
})

test('how a session stands is told after 30 seconds only if it may still be read', async () => {
  let [isAllowed, passedMs] = [true, 0]
  const clock = { ...systemClock, now: () => Date.now() + passedMs }
  const work = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const flow = defineFlow({
    name: 'slow',
    version: 1,
    run: (flow, n) => flow.step('work', () => work[n as number]!.promise),
  })
  const runtime = createRuntime({
    ...{ agents: [], flows: [flow as unknown as Flow], store: memoryStore(), logger: silentLogger, clock },
    authorize: ({ action }) => isAllowed || action === 'start',
  })
  const ann = runtime.as(createScope({ user: 'ann' }) as Scope) as unknown as Verbs
  for (const [n, tookMs] of [29_000, 30_000].entries()) {
    isAllowed = true
    const session = ann.flow('slow', `s${n}`)
    const started = session.start(n)
    await vi.waitFor(async () => expect(await session.status()).toBe('running'), { timeout: 20_000 })
    const telling = session.outcome().catch((error: { code: string }) => error.code)
    await new Promise((resolve) => setTimeout(resolve, 10))
    isAllowed = false
    passedMs += tookMs
    work[n]!.resolve()
    await started
    if (tookMs < 30_000) expect(await telling).toMatchObject({ status: 'done' })
    else expect(await telling).toBe('no_session')
  }
  await runtime.close({ drainMs: 0 })
})

test('without authorize there is nothing between a caller and its conversation', async () => {
  const runtime = createRuntime({ agents: [], store: memoryStore(), logger: silentLogger })
  expect(permissionOf(runtime.as(createScope({ user: 'ann' }) as Scope).conversation('a') as Conversation)).toBe(null)
  await runtime.close({ drainMs: 0 })
})

const wrong: readonly (readonly [string, unknown])[] = [
  ['nothing', undefined],
  ['null', null],
  ['a number', 1],
  ['a word', 'yes'],
  ['a filter without an owner', {}],
  ['a filter with an undefined owner', { owner: undefined }],
  ['a filter with an empty owner', { owner: '' }],
  ['a filter with a list of owners', { owner: ['ann'] }],
  ['a filter with more in it', { owner: 'ann', team: 'a' }],
  ['a promise of nothing', Promise.resolve()],
]

test.each(wrong)('%s is no verdict: the verb is refused, and retryable', async (_, verdict) => {
  const { as, runtime, decide } = await anns()
  decide(() => verdict)
  for (const verb of [
    () => as('ann').conversation('ann').view(),
    () => as('ann').conversations(),
    () => as('ann').conversation('new', { agent: 'helper' }).send('Hi'),
  ]) {
    expect(await settled(verb, '')).toMatchObject({ error: { code: 'authorize_failed', retryable: true } })
  }
  await runtime.close({ drainMs: 0 })
})

test('what a getter, a throw or a rejection in authorize says is not a verdict either, and an outcome never rejects', async () => {
  const { as, runtime, decide } = await anns()
  const failing = () => {
    throw new Error('no connection')
  }
  for (const decision of [failing, async () => failing(), () => Object.defineProperty({}, 'owner', { get: failing })]) {
    decide(decision)
    expect(await settled(() => as('ann').conversation('ann').view(), '')).toMatchObject({
      error: { code: 'authorize_failed' },
    })
    const outcome = await as('ann').conversation('ann').outcome()
    expect(outcome).toMatchObject({ status: 'detached', reason: expect.stringContaining('authorize failed') })
  }
  await runtime.close({ drainMs: 0 })
})

/** A conversation that waits, a session that waits, both of Ann; and one of Bob. */
async function anns() {
  const asked: AuthorizeRequest[] = []
  let decided: (() => unknown) | null = null
  const refund = defineTool({
    name: 'refund',
    description: 'Refund',
    input: { type: 'object' },
    approval: 'required',
    run: () => 1,
  })
  const model = scriptedModel(({ prompt }) =>
    JSON.stringify(prompt).includes('money') ? { calls: [{ tool: 'refund', args: { cents: 1 } }] } : 'Hello.',
  )
  const ask = defineFlow({ name: 'ask', version: 1, run: async (flow) => flow.suspend('name?') }) as unknown as Flow
  const store = memoryStore()
  const runtime = createRuntime({
    agents: [defineAgent({ name: 'helper', model, tools: [refund], audit: 'full' })],
    flows: [ask],
    store,
    logger: silentLogger,
    authorize(request) {
      asked.push(request)
      if (decided) return decided() as never
      const { user } = request.scope as { user: string }
      return user !== 'nobody' && (request.conversation === null || request.conversation.owner === user)
    },
  })
  const as = (user: string) => runtime.as(createScope({ user }) as Scope) as unknown as Verbs
  const turn = await as('ann').conversation('ann', { agent: 'helper' }).send('My money')
  const outcome = await turn.outcome()
  if (outcome.status !== 'waiting') throw new Error('the turn should wait')
  await as('ann').flow('ask', 'session').start(1)
  await (await as('bob').conversation('bob', { agent: 'helper' }).send('Hi')).outcome()
  const names: Names = { id: 'ann', callId: outcome.pending[0]!.callId, turnId: turn.turnId }
  return { as, asked, names, store, runtime, decide: (decision: () => unknown) => (decided = decision) }
}

/** What a verb gives or throws, with the id of its conversation taken out. */
async function settled(call: () => unknown, id: string): Promise<unknown> {
  const plain = (text: string) => (id === '' ? text : text.replaceAll(`'${id}'`, "'ID'").replaceAll(`"${id}"`, '"ID"'))
  try {
    const value = await call()
    return { value: value === undefined ? undefined : JSON.parse(plain(JSON.stringify(value))) }
  } catch (error) {
    const { code, message, retryable } = error as { code: string; message: string; retryable: boolean }
    return { error: { code, message: plain(message), retryable } }
  }
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const taken: T[] = []
  for await (const item of items) taken.push(item)
  return taken
}

/** What a stream says at once. */
async function few<T>(watch: (signal: AbortSignal) => AsyncIterable<T>): Promise<T[]> {
  return all(watch(AbortSignal.timeout(50)))
}

async function everythingIn(store: ReturnType<typeof memoryStore>): Promise<unknown> {
  return store.upkeep!.snapshot(async (reader) => {
    const rows: unknown[] = []
    for await (const tenant of reader.tenants()) {
      rows.push(tenant)
      for await (const row of reader.conversations(tenant)) rows.push(row, await all(reader.rows(tenant, row.id)))
      rows.push(await all(reader.tombstones(tenant)))
    }
    return rows
  })
}
