import type { Change } from '../../store/change.ts'
import type { Store } from '../../store/store.ts'
import { answer, everythingChange, observe, resolution, suspendCalls, titled, userMsg } from './event-builders.ts'
import type { Suite } from './suite.ts'

const minute = 60_000

export function refusedCommits({ describe, test, testTwoStores, expect, refused }: Suite): void {
  describe('commits that are refused', () => {
    test('a known key is answered before everything else is looked at', async ({ store }) => {
      await suspendCalls(store, 'chat', ['call'])
      await store.commit('chat', { events: [titled('A')], key: 'once' })
      const change: Change = {
        events: [titled('B')],
        key: 'once',
        epoch: 999_999,
        expectedSeq: 77,
        resolve: [{ callId: 'nothing', round: 1, status: 'resolved', result: null }],
      }
      expect(await store.commit('chat', change)).toMatchObject({ ok: true, seq: 5 })
      expect((await store.getConversation('chat'))!.lastSeq).toBe(5)
    })

    test('a wrong epoch is reported before a wrong seq, and a wrong seq before a stale answer', async ({ store }) => {
      await suspendCalls(store, 'chat', ['call'])
      const epoch = (await store.acquireLease('chat', 'holder', minute))!.epoch
      const resolve = [{ callId: 'call', round: 9, status: 'resolved', result: true }] as const
      const events = [resolution('call', { round: 9 })]
      const conflicts = await Promise.all([
        store.commit('chat', { events, epoch: epoch + 1, expectedSeq: 77, resolve }),
        store.commit('chat', { events, epoch, expectedSeq: 77, resolve }),
        store.commit('chat', { events, epoch, expectedSeq: 4, resolve }),
      ])
      expect(conflicts).toEqual([
        { ok: false, conflict: 'epoch', lastSeq: 4 },
        { ok: false, conflict: 'seq', lastSeq: 4 },
        { ok: false, conflict: 'stale', lastSeq: 4 },
      ])
    })

    const refusals: readonly [string, (epoch: number) => Partial<Change>, string][] = [
      ['epoch', (epoch) => ({ epoch: epoch + 1 }), 'epoch'],
      ['lower expectedSeq', () => ({ expectedSeq: 3 }), 'seq'],
      ['higher expectedSeq', () => ({ expectedSeq: 5 }), 'seq'],
      ['round', () => ({ resolve: [{ callId: 'one', round: 2, status: 'resolved', result: true }] }), 'stale'],
      ['call', () => ({ resolve: [answer('one'), { ...answer('one'), callId: 'unknown' }] }), 'stale'],
    ]
    for (const [wrong, part, conflict] of refusals) {
      test(`nothing of a commit is written when its ${wrong} is wrong`, async ({ store }) => {
        await suspendCalls(store, 'chat', ['one'])
        const epoch = (await store.acquireLease('chat', 'holder', minute))!.epoch
        const before = await observe(store, { ids: ['chat'], callIds: ['one', 'two'] })
        const result = await store.commit('chat', { ...everythingChange(epoch), ...part(epoch) })
        expect(result).toEqual({ ok: false, conflict, lastSeq: 4 })
        expect(await observe(store, { ids: ['chat'], callIds: ['one', 'two'] })).toEqual(before)
        expect(await store.acquireLease('chat', 'other', minute)).toBe(null)
        expect(await store.commit('chat', everythingChange(epoch))).toMatchObject({ ok: true, seq: 7 })
      })
    }

    test('nothing of a commit is written when it uses a key for something else', async ({ store }) => {
      await suspendCalls(store, 'chat', ['one'])
      await store.commit('chat', { events: [], key: 'taken', digest: 'first' })
      const epoch = (await store.acquireLease('chat', 'holder', minute))!.epoch
      const before = await observe(store, { ids: ['chat'], callIds: ['one', 'two'] })
      await refused('key_reused', () =>
        store.commit('chat', { ...everythingChange(epoch), key: 'taken', digest: 'second' }),
      )
      expect(await observe(store, { ids: ['chat'], callIds: ['one', 'two'] })).toEqual(before)
      expect(await store.acquireLease('chat', 'other', minute)).toBe(null)
    })

    test('nothing of a commit is written when it would take the call of another conversation', async ({ store }) => {
      await suspendCalls(store, 'other', ['two'])
      await suspendCalls(store, 'chat', ['one'])
      const epoch = (await store.acquireLease('chat', 'holder', minute))!.epoch
      const before = await observe(store, { ids: ['chat', 'other'], callIds: ['one', 'two'] })
      await refused('invalid_argument', () => store.commit('chat', everythingChange(epoch)))
      expect(await observe(store, { ids: ['chat', 'other'], callIds: ['one', 'two'] })).toEqual(before)
    })

    test('refused commits leave no gap in the sequence', async ({ store }) => {
      await store.appendEvent('chat', userMsg())
      for (let attempt = 0; attempt < 3; attempt++) {
        await store.commit('chat', { events: [titled('A'), titled('B')], expectedSeq: 9 })
        await store.commit('chat', { events: [titled('A')], epoch: 9 })
        await store.appendEvent('chat', titled('kept'))
      }
      const events = await store.streamEvents('chat')
      expect(events.map((event) => event.seq)).toEqual([1, 2, 3, 4])
    })

    test('a commit among others at once fails alone', async ({ store }) => {
      await store.appendEvent('chat', userMsg())
      const results = await Promise.allSettled([
        store.commit('chat', { events: [titled('A')], expectedSeq: 50 }),
        store.commit('one', { events: [userMsg()] }),
        store.commit('absent', { events: [titled('A')] }),
        store.commit('two', { events: [userMsg()] }),
        store.commit('chat', { events: [titled('A')] }),
      ])
      const told = results.map((result) =>
        result.status === 'fulfilled' ? result.value : (result.reason as { code: string }).code,
      )
      expect(told.slice(1)).toMatchObject([
        { ok: true, seq: 1 },
        'conversation_not_found',
        { ok: true, seq: 1 },
        { ok: true, seq: 2 },
      ])
      expect(told[0]).toMatchObject({ ok: false, conflict: 'seq' })
    })

    test('a commit without events checks epoch and expectedSeq, and returns the last seq', async ({ store }) => {
      await store.commit('chat', { events: [userMsg(), titled('A')] })
      const epoch = (await store.acquireLease('chat', 'holder', minute))!.epoch
      expect(await store.commit('chat', { events: [], epoch, expectedSeq: 2 })).toMatchObject({ ok: true, seq: 2 })
      expect(await store.commit('chat', { events: [], epoch, expectedSeq: 1 })).toEqual({
        ok: false,
        conflict: 'seq',
        lastSeq: 2,
      })
      expect(await store.commit('chat', { events: [], epoch: epoch + 1, expectedSeq: 2 })).toEqual({
        ok: false,
        conflict: 'epoch',
        lastSeq: 2,
      })
    })

    test('a log that was created again is told from the old one, though it is as long', async ({ store, pass }) => {
      const begin = async (title: string): Promise<number> => {
        await store.commit('chat', { events: [userMsg(), titled(title)] })
        return (await store.streamEvents('chat')).at(-1)!.at
      }
      const before = await begin('before')
      await pass(2)
      await store.deleteConversation('chat')
      const now = await begin('anew')
      const change = { events: [titled('after')], expectedSeq: 2 }
      for (const beside of [[], ['beside']]) {
        const others = beside.map((id) => store.appendEvent(id, titled('A')))
        const [result] = await Promise.all([store.commit('chat', { ...change, expectedAt: before }), ...others])
        expect(result).toEqual({ ok: false, conflict: 'seq', lastSeq: 2 })
      }
      expect(await store.commit('absent', { ...change, expectedAt: now })).toMatchObject({
        conflict: 'seq',
        lastSeq: 0,
      })
      expect(await store.commit('chat', { ...change, expectedAt: now })).toMatchObject({ ok: true, seq: 3 })
      await refused('invalid_argument', () => store.commit('chat', { events: [], expectedAt: now }))
    })

    test('a conversation that was given to another agent is noticed, though its log is the same', async ({ store }) => {
      await store.commit('chat', { events: [userMsg(), titled('two')], conversation: { agent: 'one' } })
      const change = { events: [titled('after')], expectedSeq: 2 }
      const at = (await store.streamEvents('chat')).at(-1)!.at
      for (const expectedAgent of ['other', 'on', 'ones']) {
        for (const beside of [[], ['beside']]) {
          const others = beside.map((id) => store.appendEvent(id, titled('A')))
          const [result] = await Promise.all([store.commit('chat', { ...change, expectedAgent }), ...others])
          expect(result).toEqual({ ok: false, conflict: 'seq', lastSeq: 2 })
        }
      }
      await store.putConversation('chat', { agent: 'other' })
      const former = { ...change, expectedAt: at, expectedAgent: 'one' }
      expect(await store.commit('chat', former)).toEqual({ ok: false, conflict: 'seq', lastSeq: 2 })
      expect(await store.commit('absent', former)).toMatchObject({ conflict: 'seq', lastSeq: 0 })
      await store.commit('unnamed', { events: [userMsg(), titled('two')] })
      expect(await store.commit('unnamed', { ...change, expectedAgent: 'one' })).toMatchObject({ conflict: 'seq' })
      const now = { ...change, expectedAt: at, expectedAgent: 'other' }
      expect(await store.commit('chat', now)).toMatchObject({ ok: true, seq: 3 })
      await refused('invalid_argument', () => store.commit('chat', { events: [], expectedAgent: 'other' }))
      await refused('invalid_id', () => store.commit('chat', { ...change, expectedAgent: '' }))
    })

    test('the same checks come before a missing conversation is reported', async ({ store }) => {
      const events = [userMsg()]
      const resolve = [answer('call')]
      expect(await store.commit('absent', { events, epoch: 1 })).toEqual({ ok: false, conflict: 'epoch', lastSeq: 0 })
      expect(await store.commit('absent', { events, expectedSeq: 1 })).toEqual({
        ok: false,
        conflict: 'seq',
        lastSeq: 0,
      })
      expect(await store.commit('absent', { events, resolve })).toEqual({ ok: false, conflict: 'stale', lastSeq: 0 })
      await refused('conversation_not_found', () => store.commit('absent', { events: [titled('A')], expectedSeq: 0 }))
      expect(await store.getConversation('absent')).toBe(null)
      expect(await store.commit('absent', { events, expectedSeq: 0 })).toMatchObject({ ok: true, seq: 1 })
    })

    test('of twenty commits decided on the same seq one is accepted', async ({ store }) => {
      await oneOfTwenty([store])
    })

    testTwoStores('of twenty commits through two stores on the same seq one is accepted', async ({ store, other }) => {
      await oneOfTwenty([store, other])
    })
  })

  async function oneOfTwenty(stores: readonly Store[]): Promise<void> {
    await stores[0]!.appendEvent('chat', userMsg())
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        stores[index % stores.length]!.commit('chat', { events: [titled(`title ${index}`)], expectedSeq: 1 }),
      ),
    )
    const accepted = results.findIndex((result) => result.ok)
    expect(results.filter((result) => !result.ok && result.conflict === 'seq' && result.lastSeq === 2).length).toBe(19)
    const events = await stores[0]!.streamEvents('chat')
    expect(events.slice(1)).toMatchObject([{ seq: 2, ...titled(`title ${accepted}`) }])
    expect(events.length).toBe(2)
  }
}

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

    test('a resend key works like a key, in stores that keep it', async ({ store }) => {
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

    test('a winner that asks again gets the same answer', async ({ store }) => {
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
