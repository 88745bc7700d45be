import type { Store } from '../../store/store.ts'
import { resolution, titled, userMsg } from './event-builders.ts'
import { everythingChange } from './everything-change.ts'
import { observe } from './observe.ts'
import type { Suite } from './suite.ts'
import { suspendCalls } from './suspend-calls.ts'

export function keys({ describe, test, testTwoStores, expect, refused }: Suite): void {
  describe('keys', () => {
    test('the same key returns its first seq and writes nothing', async ({ store }) => {
      const change = { events: [userMsg(), titled('A')], key: 'once' }
      expect(await store.commit('chat', change)).toMatchObject({ ok: true, seq: 2 })
      await store.appendEvent('chat', titled('B'))
      expect(await store.commit('chat', change)).toMatchObject({ ok: true, seq: 2 })
      expect(await store.commit('chat', { events: [titled('C')], key: 'once' })).toMatchObject({ ok: true, seq: 2 })
      expect((await store.streamEvents('chat')).length).toBe(3)
    })

    test('nothing at all is written under a known key', async ({ store }) => {
      await suspendCalls(store, 'chat', ['one'])
      await store.commit('chat', { events: [], key: 'everything' })
      const { epoch } = (await store.acquireLease('chat', 'holder', 60_000))!
      const before = await observe(store, { ids: ['chat'], callIds: ['one', 'two'] })
      expect(await store.commit('chat', everythingChange(epoch))).toMatchObject({ ok: true, seq: 4 })
      expect(await observe(store, { ids: ['chat'], callIds: ['one', 'two'] })).toEqual(before)
      expect(await store.acquireLease('chat', 'other', 60_000)).toBe(null)
    })

    test('a key for the store itself does what a key does, where the store keeps it at all', async ({ store }) => {
      const change = { events: [userMsg()], resendKey: 'own' }
      expect(await store.commit('chat', change)).toMatchObject({ ok: true, seq: 1 })
      const again = await store.commit('chat', change)
      expect(again.ok && [1, 2].includes(again.seq)).toBe(true)
      const both = { events: [titled('A')], key: 'once', resendKey: 'own' }
      const last = (await store.streamEvents('chat')).length
      expect(await store.commit('chat', both)).toMatchObject({ ok: true, seq: last + 1 })
      expect(await store.commit('chat', both)).toMatchObject({ ok: true, seq: last + 1 })
      await refused('invalid_id', () => store.commit('chat', { events: [], resendKey: '' }))
    })

    test('the same key with the same digest is the same request, with another it is refused', async ({ store }) => {
      const change = { events: [userMsg()], key: 'once', digest: 'first' }
      await store.commit('chat', change)
      expect(await store.commit('chat', change)).toMatchObject({ ok: true, seq: 1 })
      const error = await refused('key_reused', () => store.commit('chat', { ...change, digest: 'second' }))
      expect(error.message.includes("'once'") && error.message.includes("'chat'")).toBe(true)
      await refused('key_reused', () => store.commit('chat', { events: change.events, key: change.key }))
      expect((await store.streamEvents('chat')).length).toBe(1)
    })

    test('a key is known after the lease and the log have moved on', async ({ store }) => {
      await store.appendEvent('chat', userMsg())
      const first = (await store.acquireLease('chat', 'holder', 60_000))!
      const change = { events: [titled('A')], key: 'once', epoch: first.epoch, expectedSeq: 1 }
      expect(await store.commit('chat', change)).toMatchObject({ ok: true, seq: 2 })
      await store.acquireLease('chat', 'holder', 60_000)
      await store.appendEvent('chat', titled('B'))
      expect(await store.commit('chat', change)).toMatchObject({ ok: true, seq: 2 })
    })

    test('a winner that asks again is told that it won', async ({ store }) => {
      await suspendCalls(store, 'chat', ['call'])
      const change = {
        events: [resolution('call')],
        resolve: [{ callId: 'call', round: 1, status: 'resolved', result: true } as const],
      }
      expect(await store.commit('chat', { ...change, key: 'click-1' })).toMatchObject({ ok: true, seq: 5 })
      expect(await store.commit('chat', { ...change, key: 'click-1' })).toMatchObject({ ok: true, seq: 5 })
      expect(await store.commit('chat', { ...change, key: 'click-2' })).toMatchObject({ ok: false, conflict: 'stale' })
    })

    test('a key counts in its own conversation and its own tenant', async ({ store }) => {
      const change = { events: [userMsg()], key: 'once', digest: 'first' }
      await store.commit('chat', change)
      expect(await store.commit('other', { ...change, digest: 'second' })).toMatchObject({ ok: true, seq: 1 })
      const tenant = store.forTenant('acme')
      expect(await tenant.commit('chat', { ...change, digest: 'third' })).toMatchObject({ ok: true, seq: 1 })
    })

    test('a refused commit does not use up its key', async ({ store }) => {
      await store.appendEvent('chat', userMsg())
      await store.commit('chat', { events: [titled('A')], key: 'once', digest: 'first', expectedSeq: 7 })
      const retried = await store.commit('chat', { events: [titled('B')], key: 'once', digest: 'second' })
      expect(retried).toMatchObject({ ok: true, seq: 2 })
    })

    test('a commit without events keeps its key', async ({ store }) => {
      await store.appendEvent('chat', userMsg())
      expect(await store.commit('chat', { events: [], key: 'once' })).toMatchObject({ ok: true, seq: 1 })
      await store.appendEvent('chat', titled('A'))
      expect(await store.commit('chat', { events: [titled('B')], key: 'once' })).toMatchObject({ ok: true, seq: 1 })
    })

    test('keys that differ in a single character are different keys', async ({ store }) => {
      const alike = ['a', 'A', 'a ', ' a', 'á', 'a\u0301', 'ａ', 'а', "a'", 'a%', '__proto__', 'constructor']
      await store.appendEvent('chat', userMsg())
      for (const [index, key] of alike.entries()) {
        expect([key, await store.commit('chat', { events: [titled(key)], key })]).toMatchObject([
          key,
          { ok: true, seq: index + 2 },
        ])
      }
    })

    test('a key is forgotten with its conversation', async ({ store }) => {
      await store.commit('chat', { events: [userMsg(), titled('A')], key: 'once', digest: 'first' })
      await store.deleteConversation('chat')
      const again = await store.commit('chat', { events: [userMsg()], key: 'once', digest: 'second' })
      expect(again).toMatchObject({ ok: true, seq: 1 })
    })

    test('of twenty commits with one key at once one is written, and all get its seq', async ({ store }) => {
      await oneOfTwenty([store])
    })

    testTwoStores('of twenty commits with one key through two stores one is written', async ({ store, other }) => {
      await oneOfTwenty([store, other])
    })
  })

  async function oneOfTwenty(stores: readonly Store[]): Promise<void> {
    await stores[0]!.appendEvent('chat', userMsg())
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        stores[index % stores.length]!.commit('chat', { events: [titled('A'), titled('B')], key: 'once' }),
      ),
    )
    expect(results).toMatchObject(results.map(() => ({ ok: true, seq: 3 })))
    expect((await stores[0]!.streamEvents('chat')).length).toBe(3)
  }
}
