import { PerdureError } from '../../base/errors/perdure-error.ts'
import type { BlobRef } from '../../log/blob-ref.ts'
import type { Summary } from '../../store/records.ts'
import type { Store, TenantStore } from '../../store/store.ts'
import { fsmState, observe, resolution, suspendCalls, titled, userMsg, userMsgOf } from './event-builders.ts'
import type { Suite } from './suite.ts'

const minute = 60_000
/** A tenant of no other test: leases left by others would be reported as lost, too. */
const holder = 'holder of a tenant'
const summary: Summary = { fromSeq: 1, toSeq: 1, content: 'short', version: 1, base: null }

export function tenants({ describe, test, expect, refused }: Suite): void {
  describe('tenants', () => {
    test('the methods of the root act on the tenant called default', async ({ store }) => {
      await store.appendEvent('chat', userMsg())
      expect((await store.forTenant('default').streamEvents('chat')).length).toBe(1)
      await store.forTenant('default').appendEvent('other', userMsg())
      expect((await store.getConversation('other'))!.id).toBe('other')
    })

    for (const tenant of ['acme', 'default']) {
      test(`no method of another tenant sees or changes anything of ${tenant}`, async ({ store }) => {
        const known = await fill(store, tenant)
        const what = { ids: ['chat', 'copy'], callIds: ['call'], tenant }
        const before = await observe(store, what)
        for (const [method, { act, expected }] of Object.entries(foreign)) {
          const outcome = await outcomeOf(() => act(store.forTenant(`not ${tenant} but ${method}`), known))
          expect([method, outcome]).toEqual([method, expected])
          expect([method, await observe(store, what)]).toEqual([method, before])
        }
        const owner = store.forTenant(tenant)
        expect(await owner.commit('chat', { events: [], epoch: known.epoch })).toMatchObject({ ok: true, seq: 5 })
        expect((await owner.getBlob(known.ref)) === null).toBe(false)
        expect(await owner.getSnapshot('chat')).toEqual({ secret: true })
      })
    }

    test('the pages of one tenant do not begin at rows of another', async ({ store }) => {
      await fill(store, 'acme')
      const other = store.forTenant('other')
      await refused('conversation_not_found', () => other.listConversations({ before: 'chat' }))
      await refused('call_not_found', () => other.pendingInbox({ before: 'call' }))
    })

    test('the same ids in two tenants are two of everything', async ({ store }) => {
      const tenantNames = ['acme', 'Acme', 'acm', 'acme ', 'ácme', '__proto__']
      for (const name of tenantNames) {
        const handle = store.forTenant(name)
        await suspendCalls(handle, 'chat', ['call'])
        await handle.commit('chat', { events: [userMsg(name)], key: 'once', digest: name })
        await handle.putSnapshot('chat', name)
      }
      expect(await store.forTenant('acme').resolveToolCall('call', 'denied', 'acme')).toBe('ok')
      await store.forTenant('Acme').deleteConversation('chat')
      for (const name of tenantNames) {
        const handle = store.forTenant(name)
        const isGone = name === 'Acme'
        expect([name, await handle.getSnapshot('chat')]).toEqual([name, isGone ? null : name])
        const status = (await handle.getToolCall('call'))?.status
        expect([name, status]).toEqual([name, isGone ? undefined : name === 'acme' ? 'denied' : 'pending'])
        expect((await handle.listConversations()).length).toBe(isGone ? 0 : 1)
      }
    })

    test('deleting a tenant removes all of it, counts its conversations, and touches no other', async ({ store }) => {
      const { ref } = await fill(store, 'acme')
      await fill(store, 'other')
      const acme = store.forTenant('acme')
      await acme.fork('chat', 'copy')
      const pinned = await acme.putBlob(Buffer.from('pinned'), 'text/plain')
      await acme.putSnapshot('without conversation', 1)
      const other = { ids: ['chat'], callIds: ['call'], tenant: 'other' }
      const before = await observe(store, other)
      expect(await store.deleteTenant('acme')).toBe(2)
      for (const id of ['chat', 'copy']) {
        expect(await acme.getConversation(id)).toBe(null)
        expect(await acme.streamEvents(id)).toEqual([])
        expect(await acme.modelCalls(id)).toEqual([])
        expect(await acme.latestSummary(id)).toBe(null)
      }
      expect(await acme.getToolCall('call')).toBe(null)
      expect(await acme.pendingInbox()).toEqual([])
      for (const id of ['chat', 'without conversation']) expect(await acme.getSnapshot(id)).toBe(null)
      for (const blob of [ref, pinned]) expect(await acme.getBlob(blob)).toBe(null)
      expect(await observe(store, other)).toEqual(before)
      expect((await store.forTenant('other').getBlob(ref)) === null).toBe(false)
      expect(await store.deleteTenant('acme')).toBe(0)
      expect(await acme.commit('chat', { events: [userMsg()], key: 'once', digest: 'new' })).toMatchObject({
        ok: true,
        seq: 1,
      })
    })

    test('the leases of a deleted tenant are lost', async ({ store }) => {
      await fill(store, 'acme')
      await store.deleteTenant('acme')
      expect(await store.renewLeases(holder, minute)).toEqual([{ tenant: 'acme', id: 'chat' }])
    })
  })
}

type Known = { readonly epoch: number; readonly ref: BlobRef }

/** Creates a tenant with one row of everything. */
async function fill(store: Store, tenant: string): Promise<Known> {
  const handle = store.forTenant(tenant)
  await suspendCalls(handle, 'chat', ['call'], { expiresInMs: minute })
  const ref = await handle.putBlob(Buffer.from('file'), 'text/plain')
  const file = userMsgOf([{ type: 'file', mediaType: 'text/plain', data: ref }], 'turn-2')
  await handle.commit('chat', { events: [file], key: 'once', digest: 'first' })
  await handle.putSummary('chat', summary)
  await handle.putModelCall('chat', { turnRef: 'turn' })
  await handle.putSnapshot('chat', { secret: true })
  const lease = await handle.acquireLease('chat', holder, minute)
  return { epoch: lease!.epoch, ref }
}

type Foreign = { act(handle: TenantStore, known: Known): Promise<unknown>; readonly expected: unknown }

/** What each method does with ids that only another tenant has. */
const foreign: { readonly [Method in keyof TenantStore]: Foreign } = {
  appendEvent: { act: (handle) => handle.appendEvent('chat', userMsg()), expected: 1 },
  streamEvents: { act: (handle) => handle.streamEvents('chat'), expected: [] },
  changedSince: { act: async (handle) => (await handle.changedSince(0, 10)) ?? [], expected: [] },
  tally: { act: async (handle) => (await handle.tally())?.counts ?? [], expected: [] },
  pageEvents: { act: async (handle) => [...(await handle.pageEvents('chat', {})).events], expected: [] },
  loadSince: { act: (handle) => handle.loadSince('chat'), expected: { summary: null, events: [] } },
  pageSince: {
    act: async (handle) => {
      const { summary: found, page } = await handle.pageSince('chat', {})
      return [found, ...page.events]
    },
    expected: [null],
  },
  putSummary: {
    act: (handle) => handle.putSummary('chat', { ...summary, content: 'other' }),
    expected: 'conversation_not_found',
  },
  latestSummary: { act: (handle) => handle.latestSummary('chat'), expected: null },
  putConversation: { act: (handle) => handle.putConversation('chat', { title: 'Other' }), expected: undefined },
  getConversation: { act: (handle) => handle.getConversation('chat'), expected: null },
  standing: { act: (handle) => handle.standing('chat'), expected: null },
  putFsmState: { act: (handle) => handle.putFsmState('chat', fsmState('idle', 0)), expected: undefined },
  upsertToolCall: {
    act: (handle) => handle.upsertToolCall('chat', { id: 'call', name: 'other' }),
    expected: undefined,
  },
  getToolCall: { act: (handle) => handle.getToolCall('call'), expected: null },
  pendingToolCalls: { act: (handle) => handle.pendingToolCalls('chat'), expected: [] },
  pendingCallNames: { act: (handle) => handle.pendingCallNames('chat'), expected: [] },
  resolveToolCall: { act: (handle) => handle.resolveToolCall('call', 'denied', null), expected: 'stale' },
  scheduleExpiry: { act: (handle) => handle.scheduleExpiry('chat', 'call', 1), expected: undefined },
  cancelExpiry: { act: (handle) => handle.cancelExpiry('chat', 'call'), expected: undefined },
  putModelCall: { act: (handle) => handle.putModelCall('chat', { turnRef: 'x' }), expected: 'conversation_not_found' },
  modelCalls: { act: (handle) => handle.modelCalls('chat'), expected: [] },
  gcModelCalls: { act: (handle) => handle.gcModelCalls('chat', 0), expected: 0 },
  commit: {
    act: async (handle, { epoch }) => [
      await handle.commit('chat', { events: [], epoch }),
      await handle.commit('chat', {
        events: [resolution('call')],
        resolve: [{ callId: 'call', round: 1, status: 'resolved', result: true }],
      }),
      (await handle.commit('chat', { events: [userMsg()], key: 'once', digest: 'second' })).ok,
    ],
    expected: [{ ok: false, conflict: 'epoch', lastSeq: 0 }, { ok: false, conflict: 'stale', lastSeq: 0 }, true],
  },
  listConversations: { act: (handle) => handle.listConversations(), expected: [] },
  deleteConversation: { act: (handle) => handle.deleteConversation('chat'), expected: false },
  pendingInbox: { act: (handle) => handle.pendingInbox(), expected: [] },
  fork: { act: (handle) => handle.fork('chat', 'copy'), expected: 'conversation_not_found' },
  acquireLease: { act: (handle) => handle.acquireLease('chat', 'two', minute), expected: null },
  claimLease: { act: (handle) => handle.claimLease('chat', 'two', minute), expected: { type: 'held' } },
  releaseLease: { act: (handle, { epoch }) => handle.releaseLease('chat', epoch), expected: undefined },
  takeBackLapse: { act: (handle, { epoch }) => handle.takeBackLapse('chat', epoch), expected: undefined },
  unquarantine: { act: (handle) => handle.unquarantine('chat'), expected: false },
  putBlob: {
    act: async (handle) => (await handle.putBlob(Buffer.from('file'), 'text/html')).mediaType,
    expected: 'text/html',
  },
  getBlob: { act: (handle, { ref }) => handle.getBlob(ref), expected: null },
  putSnapshot: { act: (handle) => handle.putSnapshot('chat', 'other'), expected: undefined },
  getSnapshot: { act: (handle) => handle.getSnapshot('chat'), expected: null },
}

async function outcomeOf(act: () => Promise<unknown>): Promise<unknown> {
  try {
    return await act()
  } catch (error) {
    if (PerdureError.isInstance(error)) return error.code
    throw error
  }
}

export function ids({ describe, test, expect, refused }: Suite): void {
  describe('ids', () => {
    test('every method refuses the same ids', async ({ store }) => {
      await store.appendEvent('chat', userMsg())
      for (const [where, call] of places(store)) {
        for (const id of badIds) await refused('invalid_id', () => call(id as never), `${where}: ${shown(id)}`)
      }
      expect((await store.listConversations()).map((record) => record.id)).toEqual(['chat'])
      expect(await store.pendingInbox()).toEqual([])
    })

    test('nothing new is called . or .., which no path of a URL can hold', async ({ store }) => {
      await store.appendEvent('chat', userMsg())
      for (const id of ['.', '..']) {
        for (const where of ['appendEvent', 'putConversation', 'putFsmState', 'upsertToolCall', 'commit', 'fork to']) {
          const [, call] = places(store).find(([name]) => name === where)!
          await refused('invalid_id', () => call(id), `${where}: ${id}`)
        }
        expect(await store.getConversation(id)).toBe(null)
        expect(await store.streamEvents(id)).toEqual([])
        expect(await store.deleteConversation(id)).toBe(false)
      }
      expect((await store.listConversations()).map((record) => record.id)).toEqual(['chat'])
    })

    test('an unusual id works like any other', async ({ store }) => {
      await Promise.all(oddIds.map((id) => use(store, id)))
      await Promise.all(oddIds.map((id) => find(store, id)))
      expect((await store.listConversations({ limit: 999 })).length).toBe(oddIds.length)
    })
  })

  async function use(store: Store, id: string): Promise<void> {
    await store.commit(id, { events: [userMsg(id)], key: id, digest: id, conversation: { agent: id } })
    await store.upsertToolCall(id, { id, name: id })
    await store.putModelCall(id, { turnRef: id })
    await store.putSnapshot(id, id)
    await store.forTenant(id).appendEvent(id, titled(id))
    expect((await store.acquireLease(id, id, minute)) === null).toBe(false)
    expect(await store.renewLeases(id, minute)).toEqual([])
  }

  async function find(store: Store, id: string): Promise<void> {
    expect(await store.getConversation(id)).toMatchObject({ id, agent: id, lastSeq: 1 })
    const [event] = await store.streamEvents(id)
    expect(event).toMatchObject({ conversationId: id, ...userMsg(id) })
    expect(await store.getToolCall(id)).toMatchObject({ id, conversationId: id, name: id })
    expect((await store.modelCalls(id)).map((call) => call.turnRef)).toEqual([id])
    expect(await store.getSnapshot(id)).toBe(id)
    expect((await store.listConversations({ agent: id })).map((record) => record.id)).toEqual([id])
    expect((await store.forTenant(id).streamEvents(id)).map((own) => own.content)).toEqual([{ title: id }])
    expect(await store.commit(id, { events: [titled('B')], key: id, digest: id })).toMatchObject({ ok: true, seq: 1 })
    expect(await store.acquireLease(id, 'another holder', minute)).toBe(null)
  }
}

const badIds = [
  '',
  'x'.repeat(256),
  'é'.repeat(128),
  '😀'.repeat(64),
  'nul\u0000',
  'line\nbreak',
  '\ttab',
  '\u001f',
  '\u007f',
  '\u0085',
  '\u009f',
  '\ud800',
  'lone\udc00',
  null,
  5,
  true,
  {},
  ['chat'],
]

const oddIds = [
  'x'.repeat(255),
  `${'é'.repeat(127)}x`,
  '😀'.repeat(63),
  ' ',
  'a ',
  ' a',
  'a',
  'A',
  'á',
  'a\u0301',
  'ａ',
  '\u00a0',
  '\u200b',
  '\u2028',
  '\u202ertl',
  '\uffff',
  "o'clock",
  '"quoted"',
  'a/b/../c',
  '...',
  './',
  '%',
  '_',
  '*',
  '\\',
  '$1',
  '?',
  'null',
  '0',
  '-1',
  '1e3',
  '__proto__',
  'constructor',
  'hasOwnProperty',
]

/** Every parameter that takes an id. */
function places(store: Store): [string, (id: string) => unknown][] {
  const answer = { round: 1, status: 'resolved', result: null } as const
  const summary = { fromSeq: 1, toSeq: 1, content: null, version: 1, base: null }
  return [
    ['appendEvent', (id) => store.appendEvent(id, userMsg())],
    ['streamEvents', (id) => store.streamEvents(id)],
    ['loadSince', (id) => store.loadSince(id)],
    ['putSummary', (id) => store.putSummary(id, summary)],
    ['latestSummary', (id) => store.latestSummary(id)],
    ['putConversation', (id) => store.putConversation(id, {})],
    ['putConversation agent', (agent) => store.putConversation('chat', { agent })],
    ['putConversation parent', (id) => store.putConversation('chat', { parent: { id } })],
    ['putConversation parent call', (callId) => store.putConversation('chat', { parent: { id: 'chat', callId } })],
    ['getConversation', (id) => store.getConversation(id)],
    ['putFsmState', (id) => store.putFsmState(id, { state: 'idle', pending: [], lastSeq: 0 })],
    ['upsertToolCall', (id) => store.upsertToolCall(id, { id: 'call' })],
    ['upsertToolCall call', (id) => store.upsertToolCall('chat', { id })],
    ['getToolCall', (id) => store.getToolCall(id)],
    ['pendingToolCalls', (id) => store.pendingToolCalls(id)],
    ['pendingCallNames', (id) => store.pendingCallNames(id)],
    ['resolveToolCall', (id) => store.resolveToolCall(id, 'resolved', null)],
    ['scheduleExpiry', (id) => store.scheduleExpiry(id, 'call', minute)],
    ['scheduleExpiry call', (id) => store.scheduleExpiry('chat', id, minute)],
    ['cancelExpiry', (id) => store.cancelExpiry(id, 'call')],
    ['cancelExpiry call', (id) => store.cancelExpiry('chat', id)],
    ['putModelCall', (id) => store.putModelCall(id, { turnRef: 'turn' })],
    ['putModelCall turnRef', (turnRef) => store.putModelCall('chat', { turnRef })],
    ['modelCalls', (id) => store.modelCalls(id)],
    ['gcModelCalls', (id) => store.gcModelCalls(id, 0)],
    ['commit', (id) => store.commit(id, { events: [userMsg()] })],
    ['commit key', (key) => store.commit('chat', { events: [], key })],
    ['commit digest', (digest) => store.commit('chat', { events: [], key: 'key', digest })],
    ['commit call', (id) => store.commit('chat', { events: [], calls: [{ id }] })],
    ['commit resolve', (callId) => store.commit('chat', { events: [], resolve: [{ callId, ...answer }] })],
    ['commit agent', (agent) => store.commit('chat', { events: [], conversation: { agent } })],
    ['listConversations before', (before) => store.listConversations({ before })],
    ['listConversations agent', (agent) => store.listConversations({ agent })],
    ['deleteConversation', (id) => store.deleteConversation(id)],
    ['pendingInbox before', (before) => store.pendingInbox({ before })],
    ['fork', (id) => store.fork(id, 'copy')],
    ['fork to', (id) => store.fork('chat', id)],
    ['acquireLease', (id) => store.acquireLease(id, 'one', minute)],
    ['acquireLease holder', (holder) => store.acquireLease('chat', holder, minute)],
    ['releaseLease', (id) => store.releaseLease(id, 1)],
    ['putBlob media type', (mediaType) => store.putBlob(new Uint8Array(1), mediaType)],
    ['getBlob', (blob) => store.getBlob({ blob, mediaType: 'text/plain', size: 1 })],
    ['putSnapshot', (id) => store.putSnapshot(id, null)],
    ['getSnapshot', (id) => store.getSnapshot(id)],
    ['forTenant', (tenant) => store.forTenant(tenant)],
    ['dueWork agent', (agent) => store.dueWork({ agents: [agent], limit: 1 })],
    ['renewLeases', (holder) => store.renewLeases(holder, minute)],
    ['keepLeases', (holder) => store.keepLeases(holder, minute, [])],
    ['deleteTenant', (tenant) => store.deleteTenant(tenant)],
  ]
}

function shown(id: unknown): string {
  return JSON.stringify(id).slice(0, 20)
}
