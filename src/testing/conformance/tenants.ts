import { PerdureError } from '../../base/errors/perdure-error.ts'
import type { BlobRef } from '../../log/blob-ref.ts'
import type { Store, TenantStore } from '../../store/store.ts'
import type { Summary } from '../../store/summary.ts'
import { fsmState, resolution, userMsg, userMsgOf } from './event-builders.ts'
import { observe } from './observe.ts'
import type { Suite } from './suite.ts'
import { suspendCalls } from './suspend-calls.ts'

const minute = 60_000
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
      expect(await store.renewLeases('one', minute)).toEqual([{ tenant: 'acme', id: 'chat' }])
    })
  })
}

type Known = { readonly epoch: number; readonly ref: BlobRef }

/** A tenant with one of everything. */
async function fill(store: Store, tenant: string): Promise<Known> {
  const handle = store.forTenant(tenant)
  await suspendCalls(handle, 'chat', ['call'], { expiresInMs: minute })
  const ref = await handle.putBlob(Buffer.from('file'), 'text/plain')
  const file = userMsgOf([{ type: 'file', mediaType: 'text/plain', data: ref }], 'turn-2')
  await handle.commit('chat', { events: [file], key: 'once', digest: 'first' })
  await handle.putSummary('chat', summary)
  await handle.putModelCall('chat', { turnRef: 'turn' })
  await handle.putSnapshot('chat', { secret: true })
  const lease = await handle.acquireLease('chat', 'one', minute)
  return { epoch: lease!.epoch, ref }
}

type Foreign = { act(handle: TenantStore, known: Known): Promise<unknown>; readonly expected: unknown }

/** What each method does with ids that only another tenant has. */
const foreign: { readonly [Method in keyof TenantStore]: Foreign } = {
  appendEvent: { act: (handle) => handle.appendEvent('chat', userMsg()), expected: 1 },
  streamEvents: { act: (handle) => handle.streamEvents('chat'), expected: [] },
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
  resolveToolCall: { act: (handle) => handle.resolveToolCall('call', 'denied', null), expected: 'stale' },
  scheduleExpiry: { act: (handle) => handle.scheduleExpiry('chat', 'call', 1), expected: 'call_not_found' },
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
