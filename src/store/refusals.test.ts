import { afterAll, expect, test } from 'vitest'
import type { NewEvent } from '../log/events.ts'
import type { Change } from './change.ts'
import { checkDuration, checkId, checkNewId, checkOneOf, readList } from './checks.ts'
import { memoryStore } from './memory/memory-store.ts'
import type { TenantStore } from './store.ts'

const store = memoryStore()
const tenant = store.forTenant('acme')
afterAll(() => store.close())

const titled: NewEvent = { type: 'titled', content: { title: 'A' } }
const said: NewEvent = {
  type: 'user_msg',
  content: { turnId: 't1', message: { parts: [{ type: 'text', text: 'Hi' }] }, options: {}, who: 'ann' },
}
const commit = (change: object) => tenant.commit('chat', { events: [], ...change } as Change)
const lazy = (name: string): object =>
  Object.defineProperty({}, name, {
    enumerable: true,
    get: () => {
      throw new Error('a getter threw')
    },
  })

/** What is refused, and how the message begins. */
type Refusal = readonly [begins: string, ask: () => unknown]

const id = 'The conversation id is empty'
const verbs: readonly Refusal[] = [
  [id, () => tenant.commit('', { events: [] })],
  ["The conversation id is '..', which", () => tenant.commit('..', { events: [titled] })],
  [id, () => tenant.streamEvents('')],
  [id, () => tenant.pageEvents('', { limit: 1 })],
  [id, () => tenant.loadSince('')],
  [id, () => tenant.pageSince('', { limit: 1 })],
  [id, () => tenant.putSummary('', { fromSeq: 1, toSeq: 1, version: 1, content: null, base: null })],
  [id, () => tenant.latestSummary('')],
  [id, () => tenant.getConversation('')],
  [id, () => tenant.deleteConversation('')],
  ['The call id is empty', () => tenant.getToolCall('')],
  [id, () => tenant.pendingToolCalls('')],
  ["'options' must be an object, not 7", () => tenant.resolveToolCall('c1', 'resolved', null, 7 as never)],
  ['The call id is empty', () => tenant.resolveToolCall('', 'resolved', null)],
  [
    "'status' must be one of resolved, errored, denied, expired, cancelled, not done",
    () => tenant.resolveToolCall('c1', 'done' as never, null),
  ],
  ['The who is empty', () => tenant.resolveToolCall('c1', 'resolved', null, { who: '' })],
  ["The value at 'result'", () => tenant.resolveToolCall('c1', 'resolved', 1n as never)],
  [id, () => tenant.scheduleExpiry('', 'c1', 1)],
  ['The call id is empty', () => tenant.scheduleExpiry('chat', '', 1)],
  ["'timeoutMs' must be a whole number of at least 1, not 0", () => tenant.scheduleExpiry('chat', 'c1', 0)],
  [id, () => tenant.cancelExpiry('', 'c1')],
  ['The call id is empty', () => tenant.cancelExpiry('chat', '')],
  [id, () => tenant.putModelCall('', { turnRef: 't' })],
  ["'model call' must be an object, not null", () => tenant.putModelCall('chat', null as never)],
  ["'model call' cannot be read: a getter threw", () => tenant.putModelCall('chat', lazy('turnRef') as never)],
  ['The turnRef is empty', () => tenant.putModelCall('chat', { turnRef: '' })],
  [
    "'at' must be a whole number of at least 0, not -1",
    () => tenant.putModelCall('chat', { turnRef: 't', at: -1 } as never),
  ],
  [
    "'latencyMs' must be a whole number of at least 0, not -1",
    () => tenant.putModelCall('chat', { turnRef: 't', latencyMs: -1 }),
  ],
  [
    "'summaryVersion' must be a whole number of at least 0, not -1",
    () => tenant.putModelCall('chat', { turnRef: 't', summaryVersion: -1 }),
  ],
  [id, () => tenant.modelCalls('')],
  [id, () => tenant.gcModelCalls('', 1)],
  ["'ttlMs' must be a whole number of at least 0, not -1", () => tenant.gcModelCalls('chat', -1)],
  ["'options' must be an object, not 7", () => tenant.fork('chat', 'copy', 7 as never)],
  [id, () => tenant.fork('', 'copy')],
  ['The new conversation id is empty', () => tenant.fork('chat', '')],
  ["The new conversation id is '.', which", () => tenant.fork('chat', '.')],
  ["'at' must be a whole number of at least 0, not -1", () => tenant.fork('chat', 'copy', { at: -1 })],
  ['The agent is empty', () => tenant.fork('chat', 'copy', { agent: '' })],
  [id, () => tenant.acquireLease('', 'node', 1)],
  ['The holder is empty', () => tenant.acquireLease('chat', '', 1)],
  ["'ttlMs' must be a whole number of at least 1, not 0", () => tenant.acquireLease('chat', 'node', 0)],
  [id, () => tenant.releaseLease('', 1)],
  ["'epoch' must be a whole number of at least 0, not -1", () => tenant.releaseLease('chat', -1)],
  [id, () => tenant.takeBackLapse('', 1)],
  ["'epoch' must be a whole number of at least 0, not -1", () => tenant.takeBackLapse('chat', -1)],
  [id, () => tenant.unquarantine('')],
  [id, () => tenant.standing('')],
  ["'bytes' must be a Uint8Array", () => tenant.putBlob('x' as never, 'a/b')],
  ['The media type is empty', () => tenant.putBlob(new Uint8Array(1), '')],
  ["'blob ref' must be an object, not null", () => tenant.getBlob(null as never)],
  ['The blob is empty', () => tenant.getBlob({ blob: '', mediaType: '', size: 0 })],
  [id, () => tenant.putSnapshot('', null)],
  [id, () => tenant.getSnapshot('')],
  ['The tenant is empty', () => store.forTenant('')],
  ["'listener' must be a function", () => store.onWake(7 as never)],
]

const summary = { fromSeq: 1, toSeq: 1, version: 1, content: null, base: null }
const put = (given: object) => tenant.putSummary('chat', { ...summary, ...given })
const ranges: readonly Refusal[] = [
  ["'range' must be an object, not 7", () => tenant.streamEvents('chat', 7 as never)],
  ["'after' must be a whole number of at least 0, not -1", () => tenant.streamEvents('chat', { after: -1 })],
  ["'before' must be a whole number of at least 0, not -1", () => tenant.pageEvents('chat', { before: -1 })],
  ["'keep' must be one of newest, oldest, not all", () => tenant.streamEvents('chat', { keep: 'all' as never })],
  ["'limit' must be a whole number of at least 1, not 0", () => tenant.streamEvents('chat', { limit: 0 })],
  ["'maxBytes' must be a whole number of at least 1, not 0", () => tenant.streamEvents('chat', { maxBytes: 0 })],
  ["'bounds' must be an object, not 7", () => tenant.pageSince('chat', 7 as never)],
  ["'limit' must be a whole number of at least 1, not 0", () => tenant.pageSince('chat', { limit: 0 })],
  ["'filter' must be an object, not 7", () => tenant.listConversations(7 as never)],
  [
    "'status' must be one of active, suspended, sleeping, idle, ended, failed, not x",
    () => tenant.listConversations({ status: 'x' as never }),
  ],
  ['The agent is empty', () => tenant.listConversations({ agent: '' })],
  ['The forkOf is empty', () => tenant.listConversations({ forkOf: '' })],
  ['The before is empty', () => tenant.listConversations({ before: '' })],
  ["'maxBytes' must be a whole number of at least 1, not 0", () => tenant.listConversations({ maxBytes: 0 })],
  ["'page' must be an object, not 7", () => tenant.pendingInbox(7 as never)],
  ['The before is empty', () => tenant.pendingInbox({ before: '' })],
  ["'limit' must be a whole number of at least 1, not 0", () => tenant.pendingInbox({ limit: 0 })],
  ["'range' must be an object, not 7", () => tenant.modelCalls('chat', 7 as never)],
  ['The turnRef is empty', () => tenant.modelCalls('chat', { turnRef: '' })],
  ['The from is empty', () => tenant.modelCalls('chat', { from: '' })],
  ["'skip' must be a whole number of at least 0, not -1", () => tenant.modelCalls('chat', { skip: -1 })],
  ["'contexts' must be true or false", () => tenant.modelCalls('chat', { contexts: 7 as never })],
  ["'limit' must be a whole number of at least 1, not 0", () => tenant.modelCalls('chat', { limit: 0 })],
  ["'summary' must be an object, not null", () => tenant.putSummary('chat', null as never)],
  ["'summary' cannot be read: a getter threw", () => tenant.putSummary('chat', lazy('toSeq') as never)],
  ["'fromSeq' must be a whole number of at least 0, not -1", () => put({ fromSeq: -1 })],
  ["'toSeq' must be a whole number of at least 3, not 2", () => put({ fromSeq: 3, toSeq: 2 })],
  ["'version' must be a whole number of at least 0, not -1", () => put({ version: -1 })],
  ["The value at 'content'", () => put({ content: undefined })],
  ["'query' must be an object, not 7", () => store.dueWork(7 as never)],
  ["'limit' must be a whole number of at least 1, not 0", () => store.dueWork({ agents: [], limit: 0 })],
  ["'agents' must be a list", () => store.dueWork({ agents: 'a' as never, limit: 1 })],
  ['The agent is empty', () => store.dueWork({ agents: ['a', ''], limit: 1 })],
  ['The holder is empty', () => store.renewLeases('', 1)],
  ["'ttlMs' must be a whole number of at least 1, not 0", () => store.renewLeases('node', 0)],
]

const call = (given: object) => commit({ calls: [{ id: 'c1', ...given }] })
const resolve = (given: object) =>
  commit({ resolve: [{ callId: 'c1', round: 1, status: 'resolved', result: null, ...given }] })
const attrs = (given: object) => commit({ conversation: given })
const changes: readonly Refusal[] = [
  ["'change' must be an object, not null", () => tenant.commit('chat', null as never)],
  ["'change' cannot be read: a getter threw", () => tenant.commit('chat', lazy('events') as never)],
  ["'events' must be a list", () => commit({ events: 'all' })],
  ["'event' must be an object with type and content", () => commit({ events: [7] })],
  ["'event' must be an object with type and content", () => commit({ events: [null] })],
  ["'expectedSeq' must be a whole number of at least 0, not -1", () => commit({ expectedSeq: -1 })],
  ["'expectedAt' must be a whole number of at least 0, not -1", () => commit({ expectedSeq: 1, expectedAt: -1 })],
  ["'expectedAt' is the time of the event at 'expectedSeq'; pass both", () => commit({ expectedAt: 1 })],
  ['The expectedAgent is empty', () => commit({ expectedSeq: 1, expectedAgent: '' })],
  ["'expectedAgent' is the agent at 'expectedSeq'; pass both", () => commit({ expectedAgent: 'a' })],
  ["'epoch' must be a whole number of at least 0, not -1", () => commit({ epoch: -1 })],
  ['The key is empty', () => commit({ key: '' })],
  ['The resendKey is empty', () => commit({ resendKey: '' })],
  ['The digest is empty', () => commit({ key: 'k', digest: '' })],
  ["'lease' can only be released with its 'epoch'", () => commit({ lease: 'release' })],
  ["'acquire' must be an object, not 7", () => commit({ acquire: 7 })],
  ['The holder is empty', () => commit({ acquire: { holder: '', ttlMs: 1 } })],
  ["'ttlMs' must be a whole number of at least 1, not 0", () => commit({ acquire: { holder: 'node', ttlMs: 0 } })],
  ["'wakeAt' must be an object, not 7", () => commit({ wakeAt: 7 })],
  ["'wakeAt.inMs' must be a whole number of at least 0, not -1", () => commit({ wakeAt: { inMs: -1 } })],
  ["'conversation' must be an object, not 7", () => attrs(7 as never)],
  ['The agent is empty', () => attrs({ agent: '' })],
  ["'kind' must be one of conversation, flow, not x", () => attrs({ kind: 'x' })],
  ["'status' must be one of active, suspended, sleeping, idle, ended, failed, not x", () => attrs({ status: 'x' })],
  ["'settings' must be an object", () => attrs({ settings: [] })],
  ["'settings' must be an object", () => attrs({ settings: null })],
  ["'parent' must be an object, not 7", () => attrs({ parent: 7 })],
  ['The parent id is empty', () => attrs({ parent: { id: '' } })],
  ['The parent call id is empty', () => attrs({ parent: { id: 'p', callId: '' } })],
  ["'parent.at' must be a whole number of at least 0, not -1", () => attrs({ parent: { id: 'p', at: -1 } })],
  ["'title' must be a string or null", () => attrs({ title: 7 })],
  ["The value at 'fsmState'", () => attrs({ fsmState: 1n })],
  ["'calls' must be a list", () => commit({ calls: 7 })],
  ["'call' must be an object, not 7", () => commit({ calls: [7] })],
  ['The call id is empty', () => call({ id: '' })],
  [
    "'status' must be one of pending, resolved, errored, denied, expired, cancelled, not x",
    () => call({ status: 'x' }),
  ],
  ["'executor' must be one of server, human, client, provider, agent, not x", () => call({ executor: 'x' })],
  [
    "'kind' must be one of approval, elicitation, client_exec, sub_agent, recovery, flow, not x",
    () => call({ kind: 'x' }),
  ],
  ["'round' must be a whole number of at least 1, not 0", () => call({ round: 0 })],
  ["'expiresInMs' must be a whole number of at least 1, not 0", () => call({ expiresInMs: 0 })],
  ["The value at 'name'", () => call({ name: 1n })],
  ["The value at 'args'", () => call({ args: 1n })],
  ["The value at 'result'", () => call({ result: 1n })],
  ["The value at 'prompt'", () => call({ prompt: 1n })],
  ["'resolve' must be a list", () => commit({ resolve: 7 })],
  ["'resolve' must be an object, not 7", () => commit({ resolve: [7] })],
  ['The call id is empty', () => resolve({ callId: '' })],
  ["'round' must be a whole number of at least 1, not 0", () => resolve({ round: 0 })],
  [
    "'status' must be one of resolved, errored, denied, expired, cancelled, not pending",
    () => resolve({ status: 'pending' }),
  ],
]

test.each([
  ['verbs', verbs],
  ['ranges', ranges],
  ['changes', changes],
] as const)('what a store refuses is named: %s', async (_, refusals) => {
  for (const [begins, ask] of refusals) {
    const told = await (async () => ask())().then(
      () => 'it was taken',
      (error: Error) => error.message,
    )
    expect([begins, told.slice(0, begins.length)]).toEqual([begins, begins])
  }
})

test('the least that may be given is taken', async () => {
  const all: readonly ((store: TenantStore) => Promise<unknown>)[] = [
    (store) => store.commit('least', { events: [said], expectedSeq: 0, conversation: { agent: 'a', settings: {} } }),
    (store) => store.streamEvents('least', { after: 0, before: 0, limit: 1, maxBytes: 1 }),
    (store) => store.modelCalls('least', { skip: 0, contexts: false, limit: 1, maxBytes: 1 }),
    (store) => store.putModelCall('least', { turnRef: 't', latencyMs: 0, summaryVersion: 0 }),
    (store) => store.gcModelCalls('least', 0),
    (store) => store.putSummary('least', { fromSeq: 0, toSeq: 0, version: 0, content: null, base: null }),
    (store) => store.acquireLease('least', 'node', 1),
    (store) => store.commit('least', { events: [], wakeAt: { inMs: 0 } }),
    (store) => store.fork('least', 'copy', { at: 0 }),
  ]
  for (const ask of all) await ask(tenant)
})

test('an id is text of 1 to 255 bytes without control characters', () => {
  const told = (value: unknown) => {
    try {
      checkId('name', value)
      return null
    } catch (error) {
      return (error as Error).message.split('.')[0]
    }
  }
  expect([told('a'), told('x'.repeat(255)), told('é'.repeat(127)), told('a b~'), told('\u00a0')]).toEqual([
    null,
    null,
    null,
    null,
    null,
  ])
  expect(told('x'.repeat(256))).toBe('The name has 256 bytes')
  expect(told('é'.repeat(128))).toBe('The name has 256 bytes')
  expect(told('\ud800')).toBe('The name has a lone surrogate')
  for (const control of ['\u0000', '\u001f', '\u007f', '\u009f'])
    expect(told(control)).toBe('The name has a control character')
  expect([told(null), told(7), told(undefined)]).toEqual([
    'The name is null, not a string',
    'The name is a number, not a string',
    'The name is undefined, not a string',
  ])
  expect(() => checkNewId('name', '.')).toThrow("is '.', which")
  checkNewId('name', '...')
})

test('a duration is at most a hundred years, a choice one of those there are, a list not endless', () => {
  checkDuration('ms', 3_155_760_000_000)
  expect(() => checkDuration('ms', 3_155_760_000_001)).toThrow(
    "'ms' must be at most 3155760000000 ms (a hundred years), not 3155760000001",
  )
  checkDuration('ms', 1)
  expect(() => checkDuration('ms', 0)).toThrow("'ms' must be a whole number of at least 1, not 0")
  checkOneOf('kind', 'a', ['a', 'b'])
  expect(() => checkOneOf('kind', 'c', ['a', 'b'])).toThrow("'kind' must be one of a, b, not c")
  expect(readList('list', Object.assign(new Array(3), { 0: 1, 2: 2 }))).toEqual([1, undefined, 2])
  expect(readList('list', new Array(100_000))).toHaveLength(100_000)
  expect(() => readList('list', new Array(100_001))).toThrow("'list' has 100001 items; the limit is 100000")
})
