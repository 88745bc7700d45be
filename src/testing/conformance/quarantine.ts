import type { TenantStore } from '../../store/store.ts'
import { suspendCalls, titled, turnEnded, userMsg } from './event-builders.ts'
import type { Bench, Suite } from './suite.ts'

const minute = 60_000

export function quarantine({ describe, test, testLeaping, expect, refused }: Suite): void {
  describe('lapses and quarantine', () => {
    test('a claim counts the leases that lapsed without a release before it', async ({ store, pass }) => {
      await begin(store, 'chat')
      for (const lapses of [0, 1, 2]) {
        expect(await store.claimLease('chat', `holder-${lapses}`, 10)).toMatchObject({ type: 'taken', lapses })
        await pass(20)
      }
    })

    test('a lease that was released, or that its own holder claims again, did not lapse', async ({ store, pass }) => {
      await begin(store, 'chat')
      const first = (await store.acquireLease('chat', 'one', 10))!
      await pass(20)
      expect(await store.claimLease('chat', 'one', 10)).toMatchObject({ type: 'taken', lapses: 0 })
      await store.releaseLease('chat', first.epoch)
      await pass(20)
      const second = await store.claimLease('chat', 'two', 10)
      expect(second).toMatchObject({ lapses: 1 })
      await pass(20)
      await store.releaseLease('chat', second.type === 'taken' ? second.epoch : 0)
      expect(await store.claimLease('chat', 'three', minute)).toMatchObject({ type: 'taken', lapses: 0 })
    })

    test('the end of a turn, and a commit that releases the lease, forget the lapses', async ({ store, pass }) => {
      for (const lets of ['keeps', 'releases'] as const) {
        await begin(store, lets)
        await lapse(store, lets, pass, 2)
        const claimed = await store.claimLease(lets, 'three', 10)
        if (claimed.type !== 'taken') throw new Error(`not taken: ${claimed.type}`)
        const change = { events: [lets === 'keeps' ? turnEnded() : titled('A')], epoch: claimed.epoch }
        await store.commit(lets, lets === 'keeps' ? change : { ...change, lease: 'release' })
        await pass(20)
        const lapses = lets === 'keeps' ? 1 : 0
        expect([lets, await store.claimLease(lets, 'four', minute)]).toMatchObject([lets, { type: 'taken', lapses }])
      }
    })

    test('a commit that ends no turn forgets nothing, and neither does a renewal', async ({ store, pass }) => {
      await begin(store, 'chat')
      await lapse(store, 'chat', pass, 1)
      const { epoch } = (await store.acquireLease('chat', 'two', 10))!
      await store.commit('chat', { events: [titled('A')], epoch })
      await store.keepLeases('two', 10, [{ tenant: 'default', id: 'chat', epoch, seq: 2 }])
      await pass(20)
      expect(await store.claimLease('chat', 'three', minute)).toMatchObject({ type: 'taken', lapses: 2 })
    })

    test('a claim without suspects leaves conversations with lapses alone', async ({ store, pass }) => {
      await begin(store, 'chat')
      expect(await store.claimLease('chat', 'one', 10, { suspects: false })).toMatchObject({ type: 'taken', lapses: 0 })
      await pass(20)
      expect(await store.claimLease('chat', 'two', minute, { suspects: false })).toEqual({ type: 'suspect' })
      expect(await store.claimLease('chat', 'two', minute)).toMatchObject({ type: 'taken', lapses: 1 })
      expect(await store.claimLease('chat', 'three', minute, { suspects: false })).toEqual({ type: 'held' })
    })

    test('a commit takes a lease with lapses unless suspects is false, and is written in any case', async ({
      store,
      pass,
    }) => {
      await begin(store, 'chat')
      await lapse(store, 'chat', pass, 1)
      const acquire = { holder: 'two', ttlMs: 10 }
      const spared = await store.commit('chat', { events: [titled('A')], acquire: { ...acquire, suspects: false } })
      expect(spared).toMatchObject({ ok: true, seq: 2 })
      expect('epoch' in spared).toBe(false)
      const taken = await store.commit('chat', { events: [titled('B')], acquire })
      expect(taken).toMatchObject({ ok: true, seq: 3 })
      expect('epoch' in taken).toBe(true)
      await pass(20)
      expect(await store.claimLease('chat', 'three', minute)).toMatchObject({ type: 'taken', lapses: 2 })
    })

    test('the fifth lapse in a row quarantines: no claim gets it, and it is not due', async ({ store, pass }) => {
      await begin(store, 'poison')
      await begin(store, 'innocent')
      await lapse(store, 'poison', pass, 5)
      // Both may have begun in the same millisecond, so their order says nothing.
      const due = await store.dueWork({ agents: ['worker'], limit: 9 })
      expect(due.map(({ id }) => id).sort()).toEqual(['innocent', 'poison'])
      expect(await store.claimLease('poison', 'six', minute)).toEqual({ type: 'quarantined' })
      expect(await store.claimLease('poison', 'seven', minute)).toEqual({ type: 'held' })
      expect(await store.acquireLease('poison', 'eight', minute)).toBe(null)
      const sent = await store.commit('poison', { events: [userMsg()], acquire: { holder: 'nine', ttlMs: minute } })
      expect(sent).toMatchObject({ ok: true, seq: 2 })
      expect('epoch' in sent).toBe(false)
      expect(await store.dueWork({ agents: ['worker'], limit: 9 })).toEqual([{ tenant: 'default', id: 'innocent' }])
    })

    test('a commit may be what finds the fifth lapse', async ({ store, pass }) => {
      await begin(store, 'poison')
      await lapse(store, 'poison', pass, 5)
      const sent = await store.commit('poison', { events: [userMsg()], acquire: { holder: 'six', ttlMs: minute } })
      expect(sent).toMatchObject({ ok: true, seq: 2 })
      expect('epoch' in sent).toBe(false)
      expect((await store.getConversation('poison'))?.quarantine === undefined).toBe(false)
    })

    test('a quarantine shows in the record, in lists and in the inbox', async ({ store, pass }) => {
      await suspendCalls(store, 'poison', ['call'])
      await suspendCalls(store, 'innocent', ['other'])
      expect((await store.getConversation('poison'))!.quarantine).toBe(undefined)
      await lapse(store, 'poison', pass, 5)
      await store.claimLease('poison', 'six', minute)
      const { quarantine: found } = (await store.getConversation('poison'))!
      expect(Object.keys(found!).sort()).toEqual(['at', 'epoch'])
      const listed = await store.listConversations()
      expect(listed.find(({ id }) => id === 'poison')!.quarantine).toEqual(found!)
      expect('quarantine' in listed.find(({ id }) => id === 'innocent')!).toBe(false)
      const pending = await store.pendingInbox()
      expect(pending.find(({ id }) => id === 'call')!.quarantinedAt).toBe(found!.at)
      expect('quarantinedAt' in pending.find(({ id }) => id === 'other')!).toBe(false)
    })

    test('a commit with the epoch of a quarantine writes as its owner, one with an earlier epoch does not', async ({
      store,
      pass,
    }) => {
      await begin(store, 'poison')
      const first = (await store.acquireLease('poison', 'first', 10))!
      await pass(20)
      await lapse(store, 'poison', pass, 4)
      await store.claimLease('poison', 'six', minute)
      const { epoch } = (await store.getConversation('poison'))!.quarantine!
      expect(await store.commit('poison', { events: [titled('A')], epoch: first.epoch })).toMatchObject({ ok: false })
      expect(await store.commit('poison', { events: [turnEnded()], epoch })).toMatchObject({ ok: true, seq: 2 })
      expect((await store.getConversation('poison'))!.quarantine === undefined).toBe(false)
    })

    test('a deadline that passes in a quarantine is recorded, and wakes no process', async ({
      store,
      pass,
      eventually,
    }) => {
      await suspendCalls(store, 'poison', ['call'], { expiresInMs: 600, agent: 'worker' })
      await lapse(store, 'poison', pass, 5)
      await store.claimLease('poison', 'six', minute)
      await eventually('the call has expired', async () => (await store.getToolCall('call'))?.status === 'expired')
      expect(await store.dueWork({ agents: ['worker'], limit: 9 })).toEqual([])
    })

    test('a quarantine ends when it is released, with all its lapses, and what waited is due', async ({
      store,
      pass,
    }) => {
      await begin(store, 'poison')
      expect(await store.unquarantine('poison')).toBe(false)
      expect(await store.unquarantine('absent')).toBe(false)
      await lapse(store, 'poison', pass, 5)
      await store.claimLease('poison', 'six', minute)
      expect(await store.unquarantine('poison')).toBe(true)
      expect((await store.getConversation('poison'))!.quarantine).toBe(undefined)
      expect(await store.dueWork({ agents: ['worker'], limit: 9 })).toEqual([{ tenant: 'default', id: 'poison' }])
      expect(await store.claimLease('poison', 'seven', minute)).toMatchObject({ type: 'taken', lapses: 0 })
      expect(await store.unquarantine('poison')).toBe(false)
    })

    test('a living holder takes back its own lapse, once', async ({ store, pass }) => {
      await begin(store, 'chat')
      const first = (await store.acquireLease('chat', 'one', 10))!
      await pass(20)
      const second = (await store.acquireLease('chat', 'two', 10))!
      await pass(20)
      expect(await store.claimLease('chat', 'three', 10)).toMatchObject({ lapses: 2 })
      for (const { epoch } of [first, first]) await store.takeBackLapse('chat', epoch)
      await store.takeBackLapse('chat', second.epoch + 1_000)
      await store.takeBackLapse('absent', first.epoch)
      await pass(20)
      expect(await store.claimLease('chat', 'four', minute)).toMatchObject({ type: 'taken', lapses: 2 })
    })

    test('a quarantine that counts the lapse of a living holder is lifted', async ({ store, pass }) => {
      await begin(store, 'chat')
      const { epoch } = (await store.acquireLease('chat', 'one', 10))!
      await pass(20)
      await lapse(store, 'chat', pass, 4)
      expect(await store.claimLease('chat', 'six', minute)).toEqual({ type: 'quarantined' })
      await store.takeBackLapse('chat', epoch)
      expect((await store.getConversation('chat'))!.quarantine).toBe(undefined)
      expect(await store.dueWork({ agents: ['worker'], limit: 9 })).toEqual([{ tenant: 'default', id: 'chat' }])
      expect(await store.claimLease('chat', 'seven', minute)).toMatchObject({ type: 'taken', lapses: 4 })
    })

    test('conversations with lapses are due up to the requested number, and all others', async ({ store, pass }) => {
      for (const id of ['one', 'two', 'three']) {
        await begin(store, id)
        await pass(3)
      }
      for (const id of ['one', 'two']) await store.acquireLease(id, 'dead', 10)
      await pass(20)
      const found = async (suspects?: number, limit = 9) => {
        const query = { agents: ['worker'], limit, ...(suspects === undefined ? {} : { suspects }) }
        return (await store.dueWork(query)).map(({ id }) => id)
      }
      expect(await found()).toEqual(['one', 'two', 'three'])
      expect(await found(2)).toEqual(['one', 'two', 'three'])
      expect(await found(1)).toEqual(['one', 'three'])
      expect(await found(0)).toEqual(['three'])
      expect(await found(1, 1)).toEqual(['one'])
    })

    test('no process may use the holder name of a quarantine', async ({ store }) => {
      await begin(store, 'chat')
      await refused('invalid_argument', () => store.acquireLease('chat', 'quarantined', minute))
      await refused('invalid_argument', () => store.keepLeases('quarantined', minute, []))
      const acquire = { holder: 'quarantined', ttlMs: minute }
      await refused('invalid_argument', () => store.commit('chat', { events: [], acquire }))
    })

    testLeaping(
      'a lease that lapses more than five minutes after its claim is not counted',
      async ({ store, leap }) => {
        for (const [ttlMs, lapses] of [
          [5 * minute, 1],
          [5 * minute + 1, 0],
        ] as const) {
          const id = `for ${ttlMs}`
          await begin(store, id)
          const { epoch } = (await store.acquireLease(id, 'one', minute))!
          await store.keepLeases('one', ttlMs, [{ tenant: 'default', id, epoch, seq: 1 }])
          await leap(ttlMs)
          expect([id, await store.claimLease(id, 'two', minute)]).toMatchObject([id, { type: 'taken', lapses }])
        }
      },
    )
  })
}

async function begin(store: TenantStore, id: string): Promise<void> {
  await store.commit(id, { events: [userMsg()], conversation: { agent: 'worker' } })
}

/** Lets `times` holders take the lease one after the other, each of which dies. */
async function lapse(store: TenantStore, id: string, pass: Bench['pass'], times: number): Promise<void> {
  for (let time = 0; time < times; time++) {
    const lease = await store.acquireLease(id, `dead-${time}`, 10)
    if (!lease) throw new Error(`holder ${time} did not get '${id}'`)
    await pass(20)
  }
}
