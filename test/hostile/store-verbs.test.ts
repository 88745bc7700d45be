import { describe, expect, test } from 'vitest'
import type { NewEvent } from '../../src/log/events.ts'
import type { Store } from '../../src/store/store.ts'
import { overStores } from '../stories/over-stores.ts'
import { type Attempts, jobs, nodes, steering } from './fleet-attempts.ts'
import { tryHostile } from './try-hostile.ts'

const none: Attempts = () => []
const said = {
  type: 'user_msg' as const,
  content: { turnId: 't', message: { parts: [{ type: 'text' as const, text: 'x' }] }, options: {}, who: 'x' },
}
const summary = { fromSeq: 1, toSeq: 1, content: 'x', version: 1, base: null }
const ofConversation =
  (verb: (store: Store, id: never) => unknown): Attempts =>
  (store) => [(hostile) => verb(store, hostile)]

const moved = (content: object): NewEvent => ({
  type: 'deadline_moved',
  content: { callId: 'k1', round: 1, expiresInMs: 60_000, who: 'w', ...content },
})

/** Of every method of a store, the places where it may be given something. A method that is missing here fails the test below. */
const methods: Readonly<Record<keyof Store, Attempts>> = {
  durable: none,
  upkeep: none,
  jobs,
  // Takes what nodes make; what arrives on it is in test/live.
  liveBus: none,
  nodes,
  steering,
  outbox: (store) => {
    const outbox = store.outbox!
    const delivery = { subscriber: 's', tenant: 'default', conversationId: 'c', seq: 1, tries: 0, token: 1 }
    const request = { subscribers: ['s'], limit: 1, leaseMs: 1_000, lapsed: false }
    return [
      (hostile) => outbox.register(hostile),
      (hostile) => outbox.register([hostile]),
      (hostile) => outbox.register([{ name: hostile, types: ['titled'], agent: null }]),
      (hostile) => outbox.register([{ name: 's', types: hostile, agent: null }]),
      (hostile) => outbox.register([{ name: 's', types: [hostile], agent: null }]),
      (hostile) => outbox.register([{ name: 's', types: ['titled'], agent: hostile }]),
      (hostile) => outbox.claim(hostile),
      (hostile) => outbox.claim({ ...request, subscribers: hostile }),
      (hostile) => outbox.claim({ ...request, subscribers: [hostile] }),
      (hostile) => outbox.claim({ ...request, limit: hostile }),
      (hostile) => outbox.claim({ ...request, leaseMs: hostile }),
      (hostile) => outbox.settle(hostile, { type: 'delivered' }),
      (hostile) => outbox.settle(delivery, hostile),
      (hostile) => outbox.settle({ ...delivery, token: hostile }, { type: 'delivered' }),
      (hostile) => outbox.settle({ ...delivery, conversationId: hostile }, { type: 'delivered' }),
      (hostile) => outbox.settle(delivery, { type: 'failed', error: hostile }),
      (hostile) => outbox.settle(delivery, { type: 'again', inMs: hostile, tries: 1 }),
      (hostile) => outbox.failed(hostile),
      (hostile) => outbox.failed({ subscriber: hostile }),
      (hostile) => outbox.failed({ before: hostile }),
      (hostile) => outbox.failed({ limit: hostile }),
      (hostile) => outbox.endFailed(hostile, 'retry'),
      (hostile) => outbox.endFailed([hostile], 'discard'),
      (hostile) => outbox.endFailed([1], hostile),
      (hostile) => outbox.removeSubscriber(hostile),
    ]
  },
  accounts: (store) => {
    const accounts = store.accounts!
    const spending = { requests: 1, tokens: 1 }
    const request = {
      ...{ account: 'a', limits: { requests: null, tokens: null } },
      ...{ need: spending, want: spending, returned: null },
    }
    return [
      (hostile) => accounts.borrow(hostile),
      (hostile) => accounts.borrow({ ...request, account: hostile }),
      (hostile) => accounts.borrow({ ...request, limits: hostile }),
      (hostile) => accounts.borrow({ ...request, limits: { requests: hostile, tokens: hostile } }),
      (hostile) => accounts.borrow({ ...request, need: hostile }),
      (hostile) => accounts.borrow({ ...request, want: { requests: hostile, tokens: 1 } }),
      (hostile) => accounts.borrow({ ...request, returned: hostile }),
      (hostile) => accounts.borrow({ ...request, returned: { ...spending, minute: hostile } }),
      (hostile) => accounts.pause(hostile, 1),
      (hostile) => accounts.pause('a', hostile),
      (hostile) => accounts.held(hostile),
      (hostile) => accounts.held({ tenant: hostile, id: 'c', agent: null, account: null }),
      (hostile) => accounts.held({ tenant: 'default', id: hostile, agent: null, account: null }),
    ]
  },
  appendEvent: (store) => [
    (hostile) => store.appendEvent(hostile, said),
    (hostile) => store.appendEvent('a', hostile),
    (hostile) => store.appendEvent('a', { type: hostile, content: said.content }),
    (hostile) => store.appendEvent('a', { type: 'user_msg', content: hostile }),
    (hostile) => store.appendEvent('a', { ...said, content: { ...said.content, who: hostile } }),
  ],
  streamEvents: (store) => [
    (hostile) => store.streamEvents(hostile),
    (hostile) => store.streamEvents('c', hostile),
    (hostile) => store.streamEvents('c', { after: hostile }),
    (hostile) => store.streamEvents('c', { before: hostile }),
    (hostile) => store.streamEvents('c', { limit: hostile }),
    (hostile) => store.streamEvents('c', { keep: hostile }),
    (hostile) => store.streamEvents('c', { maxBytes: hostile }),
  ],
  pageEvents: (store) => [
    (hostile) => store.pageEvents(hostile, {}),
    (hostile) => store.pageEvents('c', hostile),
    (hostile) => store.pageEvents('c', { after: hostile }),
  ],
  loadSince: ofConversation((store, id) => store.loadSince(id)),
  pageSince: (store) => [
    (hostile) => store.pageSince(hostile, {}),
    (hostile) => store.pageSince('c', hostile),
    (hostile) => store.pageSince('c', { maxBytes: hostile }),
  ],
  putSummary: (store) => [
    (hostile) => store.putSummary(hostile, summary),
    (hostile) => store.putSummary('c', hostile),
    (hostile) => store.putSummary('c', { ...summary, fromSeq: hostile }),
    (hostile) => store.putSummary('c', { ...summary, toSeq: hostile }),
    (hostile) => store.putSummary('c', { ...summary, content: hostile }),
    (hostile) => store.putSummary('c', { ...summary, version: hostile }),
    (hostile) => store.putSummary('c', { ...summary, base: hostile }),
  ],
  latestSummary: ofConversation((store, id) => store.latestSummary(id)),
  putConversation: (store) => [
    (hostile) => store.putConversation(hostile, {}),
    (hostile) => store.putConversation('p', hostile),
    (hostile) => store.putConversation('p', { agent: hostile }),
    (hostile) => store.putConversation('p', { kind: hostile }),
    (hostile) => store.putConversation('p', { status: hostile }),
    (hostile) => store.putConversation('p', { settings: hostile }),
    (hostile) => store.putConversation('p', { settings: { inner: hostile } }),
    (hostile) => store.putConversation('p', { fsmState: hostile }),
    (hostile) => store.putConversation('p', { title: hostile }),
    (hostile) => store.putConversation('p', { parent: hostile }),
    (hostile) => store.putConversation('p', { parent: { id: 'x', at: hostile } }),
  ],
  getConversation: ofConversation((store, id) => store.getConversation(id)),
  standing: ofConversation((store, id) => store.standing(id)),
  putFsmState: (store) => [
    (hostile) => store.putFsmState(hostile, { state: 'idle', pending: [], lastSeq: 0 }),
    (hostile) => store.putFsmState('f', hostile),
    (hostile) => store.putFsmState('f', { state: hostile, pending: [], lastSeq: 0 }),
    (hostile) => store.putFsmState('f', { state: 'idle', pending: hostile, lastSeq: 0 }),
    (hostile) => store.putFsmState('f', { state: 'idle', pending: [], lastSeq: hostile }),
  ],
  upsertToolCall: (store) => [
    (hostile) => store.upsertToolCall(hostile, { id: 'k', name: 'x' }),
    (hostile) => store.upsertToolCall('c', hostile),
    (hostile) => store.upsertToolCall('c', { id: hostile, name: 'x' }),
    (hostile) => store.upsertToolCall('c', { id: 'k', name: hostile }),
    (hostile) => store.upsertToolCall('c', { id: 'k', name: 'x', args: hostile }),
    (hostile) => store.upsertToolCall('c', { id: 'k', name: 'x', status: hostile }),
    (hostile) => store.upsertToolCall('c', { id: 'k', name: 'x', executor: hostile }),
    (hostile) => store.upsertToolCall('c', { id: 'k', name: 'x', kind: hostile }),
    (hostile) => store.upsertToolCall('c', { id: 'k', name: 'x', round: hostile }),
    (hostile) => store.upsertToolCall('c', { id: 'k', name: 'x', prompt: hostile }),
    (hostile) => store.upsertToolCall('c', { id: 'k', name: 'x', result: hostile }),
    (hostile) => store.upsertToolCall('c', { id: 'k', name: 'x', expiresInMs: hostile }),
    (hostile) => store.upsertToolCall('c', { id: 'k', name: 'x', conversationId: hostile }),
    (hostile) => store.upsertToolCall('c', { id: 'k', name: 'x', meta: hostile }),
    (hostile) => store.upsertToolCall('c', { id: 'k', name: 'x', meta: { inner: hostile } }),
    (hostile) => store.upsertToolCall('c', { id: 'k', name: 'x', colour: hostile } as never),
  ],
  getToolCall: ofConversation((store, id) => store.getToolCall(id)),
  pendingToolCalls: ofConversation((store, id) => store.pendingToolCalls(id)),
  pendingCallNames: ofConversation((store, id) => store.pendingCallNames(id)),
  resolveToolCall: (store) => [
    (hostile) => store.resolveToolCall(hostile, 'resolved', null),
    (hostile) => store.resolveToolCall('k1', hostile, null),
    async (hostile) => {
      await store.upsertToolCall('c', { id: 'k2', name: 'x' })
      return store.resolveToolCall('k2', 'resolved', hostile)
    },
    (hostile) => store.resolveToolCall('k1', 'resolved', null, hostile),
    (hostile) => store.resolveToolCall('k1', 'resolved', null, { who: hostile }),
  ],
  scheduleExpiry: (store) => [
    (hostile) => store.scheduleExpiry(hostile, 'k1', 1_000),
    (hostile) => store.scheduleExpiry('c', hostile, 1_000),
    (hostile) => store.scheduleExpiry('c', 'k1', hostile),
    (hostile) => store.scheduleExpiry('c', 'k1', 1_000, hostile),
    (hostile) => store.scheduleExpiry('c', 'k1', 1_000, { who: hostile }),
  ],
  cancelExpiry: (store) => [
    (hostile) => store.cancelExpiry(hostile, 'k1'),
    (hostile) => store.cancelExpiry('c', hostile),
    (hostile) => store.cancelExpiry('c', 'k1', { who: hostile }),
  ],
  putModelCall: (store) => [
    (hostile) => store.putModelCall(hostile, { turnRef: 't' }),
    (hostile) => store.putModelCall('c', hostile),
    (hostile) => store.putModelCall('c', { turnRef: hostile }),
    (hostile) => store.putModelCall('c', { turnRef: 't', renderedContext: hostile }),
    (hostile) => store.putModelCall('c', { turnRef: 't', model: hostile }),
    (hostile) => store.putModelCall('c', { turnRef: 't', usage: hostile }),
    (hostile) => store.putModelCall('c', { turnRef: 't', latencyMs: hostile }),
    (hostile) => store.putModelCall('c', { turnRef: 't', status: hostile }),
    (hostile) => store.putModelCall('c', { turnRef: 't', at: hostile }),
    (hostile) => store.putModelCall('c', { turnRef: 't', evictions: hostile }),
    (hostile) => store.putModelCall('c', { turnRef: 't', summaryVersion: hostile }),
    (hostile) => store.putModelCall('c', { turnRef: 't', meta: hostile }),
    (hostile) => store.putModelCall('c', { turnRef: 't', meta: { inner: hostile } }),
  ],
  modelCalls: (store) => [
    (hostile) => store.modelCalls(hostile),
    (hostile) => store.modelCalls('c', hostile),
    (hostile) => store.modelCalls('c', { turnRef: hostile }),
    (hostile) => store.modelCalls('c', { from: hostile }),
    (hostile) => store.modelCalls('c', { skip: hostile }),
    (hostile) => store.modelCalls('c', { contexts: hostile }),
    (hostile) => store.modelCalls('c', { limit: hostile }),
  ],
  gcModelCalls: (store) => [
    (hostile) => store.gcModelCalls(hostile, 1_000),
    (hostile) => store.gcModelCalls('c', hostile),
  ],
  commit: (store) => [
    (hostile) => store.commit(hostile, { events: [] }),
    (hostile) => store.commit('c', hostile),
    (hostile) => store.commit('c', { events: hostile }),
    (hostile) => store.commit('c', { events: [hostile] }),
    (hostile) => store.commit('c', { events: [], expectedSeq: hostile }),
    (hostile) => store.commit('c', { events: [], expectedSeq: 1, expectedAt: hostile }),
    (hostile) => store.commit('c', { events: [], expectedSeq: 1, expectedAgent: hostile }),
    (hostile) => store.commit('c', { events: [], epoch: hostile }),
    (hostile) => store.commit('c', { events: [], key: hostile }),
    (hostile) => store.commit('c', { events: [], resendKey: hostile }),
    (hostile) => store.commit('c', { events: [], key: 'x', digest: hostile }),
    (hostile) => store.commit('c', { events: [], calls: hostile }),
    (hostile) => store.commit('c', { events: [], calls: [hostile] }),
    (hostile) => store.commit('c', { events: [], resolve: hostile }),
    (hostile) => store.commit('c', { events: [], resolve: [hostile] }),
    (hostile) =>
      store.commit('c', { events: [], resolve: [{ callId: 'k1', round: 1, status: 'resolved', result: hostile }] }),
    (hostile) => store.commit('c', { events: [], fsmState: hostile }),
    (hostile) => store.commit('c', { events: [], wakeAt: hostile }),
    (hostile) => store.commit('c', { events: [], wakeAt: { inMs: hostile } }),
    (hostile) => store.commit('c', { events: [], lease: hostile }),
    (hostile) => store.commit('c', { events: [], acquire: hostile }),
    (hostile) => store.commit('c', { events: [], acquire: { holder: hostile, ttlMs: 1_000 } }),
    (hostile) => store.commit('c', { events: [], acquire: { holder: 'h', ttlMs: hostile } }),
    (hostile) => store.commit('c', { events: [], acquire: { holder: 'h', ttlMs: 1_000, suspects: hostile } }),
    (hostile) => store.commit('c', { events: [], conversation: hostile }),
    (hostile) => store.commit('c', { events: [{ type: 'note', content: { name: hostile, data: 1, who: 'w' } }] }),
    (hostile) => store.commit('c', { events: [{ type: 'note', content: { name: 'n', data: hostile, who: 'w' } }] }),
    (hostile) => store.commit('c', { events: [moved({ callId: hostile })] }),
    (hostile) => store.commit('c', { events: [moved({ round: hostile })] }),
    (hostile) => store.commit('c', { events: [moved({ expiresInMs: hostile })] }),
  ],
  listConversations: (store) => [
    (hostile) => store.listConversations(hostile),
    (hostile) => store.listConversations({ status: hostile }),
    (hostile) => store.listConversations({ agent: hostile }),
    (hostile) => store.listConversations({ forkOf: hostile }),
    (hostile) => store.listConversations({ before: hostile }),
    (hostile) => store.listConversations({ limit: hostile }),
    (hostile) => store.listConversations({ maxBytes: hostile }),
  ],
  deleteConversation: ofConversation((store, id) => store.deleteConversation(id)),
  pendingInbox: (store) => [
    (hostile) => store.pendingInbox(hostile),
    (hostile) => store.pendingInbox({ before: hostile }),
    (hostile) => store.pendingInbox({ limit: hostile }),
  ],
  fork: (store) => [
    (hostile) => store.fork(hostile, 'copy'),
    (hostile) => store.fork('c', hostile),
    (hostile) => store.fork('c', 'copy', hostile),
    (hostile) => store.fork('c', 'copy', { at: hostile }),
    (hostile) => store.fork('c', 'copy', { agent: hostile }),
  ],
  acquireLease: (store) => [
    (hostile) => store.acquireLease(hostile, 'h', 1_000),
    (hostile) => store.acquireLease('c', hostile, 1_000),
    (hostile) => store.acquireLease('c', 'h', hostile),
  ],
  claimLease: (store) => [
    (hostile) => store.claimLease(hostile, 'h', 1_000),
    (hostile) => store.claimLease('c', hostile, 1_000),
    (hostile) => store.claimLease('c', 'h', hostile),
    (hostile) => store.claimLease('c', 'h', 1_000, hostile),
    (hostile) => store.claimLease('c', 'h', 1_000, { suspects: hostile }),
  ],
  takeBackLapse: (store) => [
    (hostile) => store.takeBackLapse(hostile, 1),
    (hostile) => store.takeBackLapse('c', hostile),
  ],
  unquarantine: ofConversation((store, id) => store.unquarantine(id)),
  changedSince: (store) => [(hostile) => store.changedSince(hostile, 1), (hostile) => store.changedSince(0, hostile)],
  tally: (store) => [(hostile) => store.tally(hostile), (hostile) => store.tally({ owner: hostile })],
  releaseLease: (store) => [(hostile) => store.releaseLease(hostile, 1), (hostile) => store.releaseLease('c', hostile)],
  putBlob: (store) => [
    (hostile) => store.putBlob(hostile, 'text/plain'),
    (hostile) => store.putBlob(new Uint8Array(1), hostile),
  ],
  getBlob: (store) => [
    (hostile) => store.getBlob(hostile),
    (hostile) => store.getBlob({ blob: hostile, mediaType: '', size: 0 }),
  ],
  putSnapshot: (store) => [
    (hostile) => store.putSnapshot(hostile, null),
    (hostile) => store.putSnapshot('c', hostile),
    (hostile) => store.putSnapshot('c', { inner: [hostile] }),
  ],
  getSnapshot: ofConversation((store, id) => store.getSnapshot(id)),
  forTenant: (store) => [(hostile) => store.forTenant(hostile).listConversations()],
  dueWork: (store) => [
    (hostile) => store.dueWork(hostile),
    (hostile) => store.dueWork({ agents: hostile, limit: 1 }),
    (hostile) => store.dueWork({ agents: [hostile], limit: 1 }),
    (hostile) => store.dueWork({ agents: ['x'], limit: hostile }),
    (hostile) => store.dueWork({ agents: ['x'], limit: 1, suspects: hostile }),
  ],
  announce: none,
  claimDue: (store) => {
    const claim = { holder: 'h', ttlMs: 1_000, agents: ['x'], limit: 1 }
    return [
      (hostile) => store.claimDue(hostile),
      (hostile) => store.claimDue({ ...claim, holder: hostile }),
      (hostile) => store.claimDue({ ...claim, ttlMs: hostile }),
      (hostile) => store.claimDue({ ...claim, agents: hostile }),
      (hostile) => store.claimDue({ ...claim, agents: [hostile] }),
      (hostile) => store.claimDue({ ...claim, limit: hostile }),
      (hostile) => store.claimDue({ ...claim, suspects: hostile }),
      (hostile) => store.claimDue({ ...claim, dueForMs: hostile }),
      (hostile) => store.claimDue({ ...claim, except: hostile }),
      (hostile) => store.claimDue({ ...claim, except: [hostile] }),
      (hostile) => store.claimDue({ ...claim, except: [{ tenant: 't', id: 'c', seq: hostile }] }),
      (hostile) => store.claimDue({ ...claim, only: hostile }),
      (hostile) => store.claimDue({ ...claim, only: [hostile] }),
      (hostile) => store.claimDue({ ...claim, only: [{ tenant: hostile, id: 'c' }] }),
    ]
  },
  renewLeases: (store) => [
    (hostile) => store.renewLeases(hostile, 1_000),
    (hostile) => store.renewLeases('h', hostile),
  ],
  keepLeases: (store) => [
    (hostile) => store.keepLeases(hostile, 1_000, []),
    (hostile) => store.keepLeases('h', hostile, []),
    (hostile) => store.keepLeases('h', 1_000, hostile),
    (hostile) => store.keepLeases('h', 1_000, [hostile]),
    async (hostile) => {
      const { epoch } = (await store.acquireLease('c', 'h', 1_000)) ?? { epoch: 1 }
      return store.keepLeases('h', 1_000, [{ tenant: 'default', id: 'c', epoch, seq: hostile }])
    },
  ],
  movedLogs: (store) => [
    (hostile) => store.movedLogs(hostile),
    (hostile) => store.movedLogs([hostile]),
    (hostile) => store.movedLogs([{ tenant: 'default', id: hostile, seq: 1, at: null, status: null }]),
    (hostile) => store.movedLogs([{ tenant: 'default', id: 'c', seq: hostile, at: null, status: null }]),
    (hostile) => store.movedLogs([{ tenant: 'default', id: 'c', seq: 1, at: hostile, status: hostile }]),
  ],
  onWake: (store) => [(hostile) => store.onWake(hostile)()],
  deleteTenant: (store) => [(hostile) => store.deleteTenant(hostile)],
  close: none,
}

overStores('whatever a store is given, it succeeds or fails with a code', (story) => {
  test('every method is tried', () => {
    // Of the stores, only that of Postgres has these.
    const offered = Object.keys({ announce: null, liveBus: null, ...story.openStore() })
    expect(Object.keys(methods).toSorted()).toEqual(offered.toSorted())
  })

  describe('', () => {
    for (const [name, attempts] of Object.entries(methods)) {
      if (attempts === none) continue
      test(name, async () => {
        const store = story.openStore()
        await store.appendEvent('c', said)
        await store.upsertToolCall('c', { id: 'k1', name: 'x' })
        expect(await tryHostile(attempts(store))).toEqual([])
        expect(await store.appendEvent('another', said)).toBe(1)
      }, 300_000)
    }
  })
})
