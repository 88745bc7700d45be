import type { Store } from '../../store/store.ts'
import { titled, userMsg } from './event-builders.ts'
import type { Suite } from './suite.ts'

const minute = 60_000

export function leasesAndEpochs({ describe, test, testTwoStores, expect }: Suite): void {
  describe('leases and epochs', () => {
    test('one holder has the lease, and another one gets nothing', async ({ store }) => {
      await store.appendEvent('chat', userMsg())
      const lease = await store.acquireLease('chat', 'one', minute)
      expect(Object.keys(lease!)).toEqual(['epoch'])
      expect(Number.isSafeInteger(lease!.epoch)).toBe(true)
      expect(await store.acquireLease('chat', 'two', minute)).toBe(null)
    })

    test('a conversation that does not exist cannot be held', async ({ store }) => {
      expect(await store.acquireLease('absent', 'one', minute)).toBe(null)
      expect(await store.getConversation('absent')).toBe(null)
    })

    test('epochs come from one counter of the whole store and grow with each acquisition', async ({ store }) => {
      const epochs: number[] = []
      const acme = store.forTenant('acme')
      for (const handle of [store, acme]) await handle.appendEvent('chat', userMsg())
      await store.appendEvent('other', userMsg())
      for (let round = 0; round < 3; round++) {
        epochs.push((await store.acquireLease('chat', 'one', minute))!.epoch)
        epochs.push((await acme.acquireLease('chat', 'one', minute))!.epoch)
        const lease = (await store.acquireLease('other', `holder-${round}`, minute))!
        epochs.push(lease.epoch)
        await store.releaseLease('other', lease.epoch)
      }
      expect(epochs).toEqual([...new Set(epochs)].sort((left, right) => left - right))
      await store.deleteConversation('chat')
      await store.appendEvent('chat', userMsg())
      expect((await store.acquireLease('chat', 'one', minute))!.epoch).toBeGreaterThan(epochs.at(-1)!)
    })

    test('a commit can take a free lease in the same transaction', async ({ store }) => {
      const acquire = { holder: 'one', ttlMs: minute }
      const first = await store.commit('chat', { events: [userMsg()], acquire })
      if (!first.ok) throw new Error(`refused: ${first.conflict}`)
      expect(await store.acquireLease('chat', 'two', minute)).toBe(null)
      expect(await store.commit('chat', { events: [titled('A')], epoch: first.epoch! })).toMatchObject({
        ok: true,
        seq: 2,
      })
      const second = await store.commit('chat', { events: [titled('B')], acquire: { holder: 'two', ttlMs: minute } })
      expect(second).toMatchObject({ ok: true, seq: 3 })
      expect('epoch' in second).toBe(false)
      const own = await store.commit('chat', { events: [titled('C')], acquire })
      expect('epoch' in own).toBe(false)
      await store.releaseLease('chat', first.epoch!)
      const third = await store.commit('chat', { events: [], acquire: { holder: 'two', ttlMs: minute } })
      if (!third.ok) throw new Error(`refused: ${third.conflict}`)
      expect(third.epoch).toBeGreaterThan(first.epoch!)
      expect((await store.acquireLease('chat', 'two', minute))!.epoch).toBeGreaterThan(third.epoch!)
    })

    test('a commit may wake, give the lease back and take it, each with or without the others', async ({ store }) => {
      const isDue = async (id: string): Promise<boolean> =>
        (await store.dueWork({ agents: ['worker'], limit: 100 })).some((due) => due.id === id)
      for (let mix = 0; mix < 8; mix++) {
        const [wakes, releases, acquires] = [(mix & 1) > 0, (mix & 2) > 0, (mix & 4) > 0]
        const id = `mix ${mix}`
        await store.commit(id, { events: [userMsg()], conversation: { agent: 'worker' }, wakeAt: null })
        const held = releases ? (await store.acquireLease(id, 'one', minute))! : null
        const result = await store.commit(id, {
          events: [wakes ? userMsg() : titled('A')],
          ...(held ? { epoch: held.epoch, lease: 'release' } : {}),
          ...(acquires ? { acquire: { holder: 'two', ttlMs: minute } } : {}),
        })
        if (!result.ok) throw new Error(`refused: ${result.conflict}`)
        expect([id, result.epoch !== undefined]).toEqual([id, acquires])
        expect([id, await isDue(id)]).toEqual([id, wakes && !acquires])
        if (acquires) {
          expect(await store.acquireLease(id, 'three', minute)).toBe(null)
          expect(await store.commit(id, { events: [], epoch: result.epoch! })).toMatchObject({ ok: true })
          await store.releaseLease(id, result.epoch!)
        }
        expect([id, await isDue(id)]).toEqual([id, wakes])
        expect((await store.acquireLease(id, 'three', minute)) === null).toBe(false)
      }
    })

    test('a refused commit and one known by its key bring no lease', async ({ store }) => {
      await store.commit('chat', { events: [userMsg()], key: 'once' })
      const acquire = { holder: 'one', ttlMs: minute }
      expect(await store.commit('chat', { events: [titled('A')], expectedSeq: 7, acquire })).toMatchObject({
        ok: false,
      })
      const known = await store.commit('chat', { events: [userMsg()], key: 'once', acquire })
      expect(known).toEqual({ ok: true, seq: 1 })
      expect((await store.acquireLease('chat', 'two', minute)) === null).toBe(false)
    })

    test('a commit that took the lease has the same answer when it is repeated under its key', async ({ store }) => {
      const change = { events: [userMsg()], key: 'once', acquire: { holder: 'one', ttlMs: minute } }
      const first = await store.commit('chat', change)
      if (!first.ok) throw new Error(`refused: ${first.conflict}`)
      expect(await store.commit('chat', change)).toEqual({ ok: true, seq: 1, epoch: first.epoch! })
      expect((await store.streamEvents('chat')).length).toBe(1)
      const another = await store.commit('chat', { ...change, acquire: { holder: 'two', ttlMs: minute } })
      expect(another).toEqual({ ok: true, seq: 1 })
      expect(await store.commit('chat', { events: [titled('A')], epoch: first.epoch! })).toMatchObject({ ok: true })
      expect(await store.commit('chat', { ...change, events: [] })).toEqual({ ok: true, seq: 1, epoch: first.epoch! })
    })

    test('a repeat returns no lease that was released, or taken otherwise since', async ({ store }) => {
      const change = { events: [userMsg()], key: 'once', acquire: { holder: 'one', ttlMs: minute } }
      const first = await store.commit('chat', change)
      if (!first.ok) throw new Error(`refused: ${first.conflict}`)
      await store.releaseLease('chat', first.epoch!)
      expect(await store.commit('chat', change)).toEqual({ ok: true, seq: 1 })
      expect((await store.acquireLease('chat', 'one', minute)) === null).toBe(false)
      expect(await store.commit('chat', change)).toEqual({ ok: true, seq: 1 })
    })

    test('a lease that a repeat returns lasts as long as the repeat asks for', async ({ store, pass }) => {
      const change = { events: [userMsg()], key: 'once' }
      const first = await store.commit('chat', { ...change, acquire: { holder: 'one', ttlMs: 10 } })
      if (!first.ok) throw new Error(`refused: ${first.conflict}`)
      await pass(20)
      const again = await store.commit('chat', { ...change, acquire: { holder: 'one', ttlMs: minute } })
      expect(again).toEqual({ ok: true, seq: 1, epoch: first.epoch! })
      expect(await store.acquireLease('chat', 'two', minute)).toBe(null)
    })

    test('a lease is released only with its epoch', async ({ store }) => {
      await store.appendEvent('chat', userMsg())
      const lease = (await store.acquireLease('chat', 'one', minute))!
      let code: unknown
      await store.commit('chat', { events: [titled('A')], lease: 'release' }).catch((error) => {
        code = error.code
      })
      expect(code).toBe('invalid_argument')
      expect(await store.commit('chat', { events: [titled('A')], epoch: lease.epoch })).toMatchObject({ ok: true })
    })

    test('a commit is accepted under the current epoch only', async ({ store }) => {
      await store.appendEvent('chat', userMsg())
      const first = (await store.acquireLease('chat', 'one', minute))!
      expect(await store.commit('chat', { events: [titled('A')], epoch: first.epoch })).toMatchObject({
        ok: true,
        seq: 2,
      })
      const second = (await store.acquireLease('chat', 'one', minute))!
      const refusal = { ok: false, conflict: 'epoch', lastSeq: 2 }
      expect(await store.commit('chat', { events: [titled('B')], epoch: first.epoch })).toEqual(refusal)
      expect(await store.commit('chat', { events: [titled('B')], epoch: second.epoch + 1 })).toEqual(refusal)
      expect(await store.commit('chat', { events: [titled('B')], epoch: second.epoch })).toMatchObject({
        ok: true,
        seq: 3,
      })
    })

    test('the epoch of another conversation is refused', async ({ store }) => {
      await store.appendEvent('chat', userMsg())
      await store.appendEvent('other', userMsg())
      await store.acquireLease('chat', 'one', minute)
      const { epoch } = (await store.acquireLease('other', 'one', minute))!
      expect(await store.commit('chat', { events: [titled('A')], epoch })).toMatchObject({ conflict: 'epoch' })
    })

    test('an epoch is refused when the conversation has no holder', async ({ store }) => {
      await store.appendEvent('chat', userMsg())
      for (const epoch of [0, 1]) {
        expect(await store.commit('chat', { events: [], epoch })).toEqual({ ok: false, conflict: 'epoch', lastSeq: 1 })
      }
    })

    test('a caller without a lease may append without an epoch', async ({ store }) => {
      await store.appendEvent('chat', userMsg())
      const { epoch } = (await store.acquireLease('chat', 'one', minute))!
      expect(await store.appendEvent('chat', titled('A'))).toBe(2)
      expect(await store.commit('chat', { events: [], epoch, expectedSeq: 2 })).toMatchObject({ ok: true, seq: 2 })
    })

    test('a lapsed lease can be taken, and its commits are refused from then on', async ({ store, pass }) => {
      await store.appendEvent('chat', userMsg())
      const lapsed = (await store.acquireLease('chat', 'one', 10))!
      await pass(20)
      const taken = await store.acquireLease('chat', 'two', minute)
      expect(taken!.epoch).toBeGreaterThan(lapsed.epoch)
      const late = await store.commit('chat', { events: [titled('A')], epoch: lapsed.epoch })
      expect(late).toEqual({ ok: false, conflict: 'epoch', lastSeq: 1 })
    })

    test('a lapsed lease that was not taken over still lets its holder commit', async ({ store, pass }) => {
      await store.appendEvent('chat', userMsg())
      const { epoch } = (await store.acquireLease('chat', 'one', 10))!
      await pass(20)
      expect(await store.commit('chat', { events: [titled('A')], epoch })).toMatchObject({ ok: true, seq: 2 })
    })

    test('a released lease is free at once, and a late commit under it is refused', async ({ store }) => {
      await store.appendEvent('chat', userMsg())
      const { epoch } = (await store.acquireLease('chat', 'one', minute))!
      await store.releaseLease('chat', epoch)
      expect(await store.commit('chat', { events: [], epoch })).toEqual({ ok: false, conflict: 'epoch', lastSeq: 1 })
      expect((await store.acquireLease('chat', 'two', minute)) === null).toBe(false)
    })

    test('a commit can release the lease it was made under', async ({ store }) => {
      await store.appendEvent('chat', userMsg())
      const { epoch } = (await store.acquireLease('chat', 'one', minute))!
      const parked = await store.commit('chat', { events: [titled('A')], epoch, lease: 'release' })
      expect(parked).toMatchObject({ ok: true, seq: 2 })
      expect(await store.commit('chat', { events: [], epoch })).toMatchObject({ conflict: 'epoch' })
      expect((await store.acquireLease('chat', 'two', minute)) === null).toBe(false)
    })

    test('releasing with an epoch that has passed does nothing', async ({ store }) => {
      await store.appendEvent('chat', userMsg())
      const first = (await store.acquireLease('chat', 'one', minute))!
      const second = (await store.acquireLease('chat', 'one', minute))!
      await store.releaseLease('chat', first.epoch)
      await store.releaseLease('absent', second.epoch)
      expect(await store.acquireLease('chat', 'two', minute)).toBe(null)
      expect(await store.commit('chat', { events: [], epoch: second.epoch })).toMatchObject({ ok: true, seq: 1 })
    })

    test('a renewal extends every lease of the holder, lapsed or not, and no other', async ({ store, pass }) => {
      const acme = store.forTenant('acme')
      for (const id of ['mine', 'others']) await store.appendEvent(id, userMsg())
      await acme.appendEvent('mine', userMsg())
      await store.acquireLease('mine', 'one', 10)
      await acme.acquireLease('mine', 'one', 10)
      await store.acquireLease('others', 'two', 10)
      await pass(20)
      expect(await store.renewLeases('one', minute)).toEqual([])
      expect(await store.acquireLease('mine', 'three', minute)).toBe(null)
      expect(await acme.acquireLease('mine', 'three', minute)).toBe(null)
      expect((await store.acquireLease('others', 'three', minute)) === null).toBe(false)
    })

    test('a renewal keeps the epoch', async ({ store }) => {
      await store.appendEvent('chat', userMsg())
      const { epoch } = (await store.acquireLease('chat', 'one', minute))!
      await store.renewLeases('one', minute)
      expect(await store.commit('chat', { events: [], epoch })).toMatchObject({ ok: true, seq: 1 })
    })

    test('a renewal reports each lost lease once', async ({ store, pass }) => {
      for (const id of ['kept', 'taken', 'deleted']) await store.appendEvent(id, userMsg())
      const acme = store.forTenant('acme')
      await acme.appendEvent('taken', userMsg())
      await store.acquireLease('kept', 'one', minute)
      await store.acquireLease('deleted', 'one', minute)
      await store.acquireLease('taken', 'one', 10)
      await acme.acquireLease('taken', 'one', 10)
      await pass(20)
      await store.acquireLease('taken', 'two', minute)
      await acme.acquireLease('taken', 'two', minute)
      await store.deleteConversation('deleted')
      const lost = await store.renewLeases('one', minute)
      expect(lost.map(({ tenant, id }) => `${tenant}/${id}`).sort()).toEqual([
        'acme/taken',
        'default/deleted',
        'default/taken',
      ])
      expect(await store.renewLeases('one', minute)).toEqual([])
      expect(await store.acquireLease('kept', 'two', minute)).toBe(null)
    })

    test('a released lease is not lost', async ({ store }) => {
      for (const id of ['released', 'parked']) await store.appendEvent(id, userMsg())
      const released = (await store.acquireLease('released', 'one', minute))!
      const parked = (await store.acquireLease('parked', 'one', minute))!
      await store.releaseLease('released', released.epoch)
      await store.commit('parked', { events: [], epoch: parked.epoch, lease: 'release' })
      expect(await store.renewLeases('one', minute)).toEqual([])
      expect(await store.renewLeases('absent', minute)).toEqual([])
    })

    test('leases that their holder knows are kept, lapsed or not; one it does not know is reported and lapses', async ({
      store,
      pass,
    }) => {
      const take = async (id: string, holder: string, ttlMs: number) => {
        await store.appendEvent(id, userMsg())
        const { epoch } = (await store.acquireLease(id, holder, ttlMs))!
        return { tenant: 'default', id, epoch, seq: 1 }
      }
      const lapsed = await take('lapsed', 'one', 10)
      const live = await take('live', 'one', minute)
      const { seq: _, ...stray } = await take('stray', 'one', 10)
      await take('other', 'two', 10)
      await pass(20)
      expect(await store.keepLeases('one', minute, [lapsed, live])).toEqual({ lost: [], grown: [], strays: [stray] })
      for (const id of ['lapsed', 'live'])
        expect([id, await store.acquireLease(id, 'three', minute)]).toEqual([id, null])
      for (const id of ['stray', 'other']) {
        expect([id, (await store.acquireLease(id, 'three', minute)) === null]).toEqual([id, false])
      }
    })

    test('keeping leases reports lost ones, and how far the logs of the others have grown', async ({ store, pass }) => {
      const acme = store.forTenant('acme')
      const known = []
      for (const [handle, tenant, id, ttlMs] of [
        [store, 'default', 'grown', minute],
        [acme, 'acme', 'grown', 10],
        [store, 'default', 'quiet', minute],
        [store, 'default', 'taken', 10],
        [acme, 'acme', 'deleted', minute],
        [store, 'default', 'released', minute],
      ] as const) {
        await handle.appendEvent(id, userMsg())
        const { epoch } = (await handle.acquireLease(id, 'one', ttlMs))!
        known.push({ tenant, id, epoch, seq: 1 })
      }
      await pass(20)
      await store.acquireLease('taken', 'two', 40)
      await acme.deleteConversation('deleted')
      await store.releaseLease('released', known.at(-1)!.epoch)
      for (const handle of [store, acme, acme]) await handle.appendEvent('grown', titled('A'))
      const { lost, grown, strays } = await store.keepLeases('one', minute, known)
      const byTenant = (left: { tenant: string }, right: { tenant: string }) => (left.tenant < right.tenant ? -1 : 1)
      expect([...lost].sort(byTenant)).toEqual([
        { tenant: 'acme', id: 'deleted', epoch: known[4]!.epoch },
        { tenant: 'default', id: 'taken', epoch: known[3]!.epoch },
      ])
      expect([...grown].sort(byTenant)).toEqual([
        { tenant: 'acme', id: 'grown', seq: 3 },
        { tenant: 'default', id: 'grown', seq: 2 },
      ])
      expect(strays).toEqual([])
      expect(await store.keepLeases('one', minute, known.slice(0, 5))).toMatchObject({ lost: [] })
      expect(await acme.acquireLease('grown', 'two', minute)).toBe(null)
      await pass(60)
      expect((await store.acquireLease('taken', 'three', minute)) === null).toBe(false)
    })

    test('a holder that knows no leases gets all under its name as strays', async ({ store }) => {
      await store.appendEvent('chat', userMsg())
      const { epoch } = (await store.acquireLease('chat', 'one', minute))!
      const strays = [{ tenant: 'default', id: 'chat', epoch }]
      expect(await store.keepLeases('one', minute, [])).toEqual({ lost: [], grown: [], strays })
      expect(await store.keepLeases('two', minute, [])).toEqual({ lost: [], grown: [], strays: [] })
    })

    test('of twenty holders at once one gets the lease', async ({ store }) => {
      await oneOfTwenty([store])
    })

    testTwoStores('of twenty holders through two stores one gets the lease', async ({ store, other }) => {
      await oneOfTwenty([store, other])
    })

    testTwoStores(
      'a lease taken through another store under the same name is not renewed, and is reported',
      async (bench) => {
        const { store, other, pass } = bench
        await store.appendEvent('chat', userMsg())
        const { epoch } = (await other.acquireLease('chat', 'one', 10))!
        expect(await store.renewLeases('one', minute)).toEqual([])
        const strays = [{ tenant: 'default', id: 'chat', epoch }]
        expect(await store.keepLeases('one', minute, [])).toEqual({ lost: [], grown: [], strays })
        await pass(20)
        expect((await store.acquireLease('chat', 'two', minute)) === null).toBe(false)
      },
    )

    testTwoStores('a lease that was taken through another store is lost', async ({ store, other, pass }) => {
      await store.appendEvent('chat', userMsg())
      const { epoch } = (await store.acquireLease('chat', 'one', 10))!
      await pass(20)
      expect((await other.acquireLease('chat', 'two', minute))!.epoch).toBeGreaterThan(epoch)
      expect(await store.commit('chat', { events: [titled('A')], epoch })).toMatchObject({ conflict: 'epoch' })
      expect(await store.renewLeases('one', minute)).toEqual([{ tenant: 'default', id: 'chat' }])
    })
  })

  async function oneOfTwenty(stores: readonly Store[]): Promise<void> {
    await stores[0]!.appendEvent('chat', userMsg())
    const leases = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        stores[index % stores.length]!.acquireLease('chat', `holder-${index}`, minute),
      ),
    )
    const held = leases.filter((lease) => lease !== null)
    expect(held.length).toBe(1)
    expect(await stores[0]!.commit('chat', { events: [], epoch: held[0]!.epoch })).toMatchObject({ ok: true, seq: 1 })
  }
}
