import type { ClaimedDue, DueClaim } from '../../store/claim-due.ts'
import type { Store, TenantStore } from '../../store/store.ts'
import { titled, userMsg } from './event-builders.ts'
import type { Suite } from './suite.ts'

const minute = 60_000
const claim: DueClaim = { holder: 'one', ttlMs: minute, agents: ['support'], limit: 9 }

export function claimDue({ describe, test, testTwoStores, testLeaping, expect }: Suite): void {
  describe('claims of due work', () => {
    test('the longest due are taken, as many as are asked for, each with what a worker needs', async ({
      store,
      pass,
    }) => {
      for (const id of ['c', 'a', 'b']) {
        await begin(store.forTenant(id === 'a' ? 'acme' : 'default'), id)
        await pass(3)
      }
      await store.appendEvent('b', titled('B'))
      const first = await store.claimDue({ ...claim, limit: 2 })
      expect(first.map(({ tenant, id }) => [tenant, id])).toEqual([
        ['default', 'c'],
        ['acme', 'a'],
      ])
      const second = await store.claimDue(claim)
      expect(second).toMatchObject([
        {
          type: 'taken',
          tenant: 'default',
          id: 'b',
          agent: 'support',
          lastSeq: 2,
          lapses: 0,
          problem: null,
          fork: null,
        },
      ])
      expect(await store.claimDue(claim)).toEqual([])
      await store.fork('b', 'copy', { at: 1, owner: 'ann' })
      await store.commit('copy', { events: [userMsg('again', 'turn-2')] })
      const forked = { type: 'taken', id: 'copy', lastSeq: 2, fork: { at: 1, owner: 'ann' } }
      expect(await store.claimDue(claim)).toMatchObject([forked])
      const epochs = [...first, ...second].map((one) => (one.type === 'taken' ? one.epoch : 0))
      expect(new Set(epochs).size).toBe(3)
    })

    test('what is held, is due later, has no agent or another, or was deleted is left', async ({ store, pass }) => {
      for (const id of ['held', 'lapsed', 'later', 'parked', 'deleted']) await begin(store, id)
      await begin(store, 'sales', 'sales')
      await store.appendEvent('unassigned', userMsg())
      await store.acquireLease('held', 'two', minute)
      await store.acquireLease('lapsed', 'two', 10)
      await store.commit('later', { events: [], wakeAt: { inMs: minute } })
      await store.commit('parked', { events: [], wakeAt: null })
      await store.deleteConversation('deleted')
      await pass(20)
      expect(await store.claimDue({ ...claim, agents: [] })).toEqual([])
      expect(idsOf(await store.claimDue({ ...claim, suspects: 1 }))).toEqual(['lapsed'])
      expect(idsOf(await store.claimDue({ ...claim, agents: ['sales', 'support'] }))).toEqual(['sales'])
    })

    test('the holder keeps what it took by its epoch, and what it does not name is a stray', async ({ store }) => {
      for (const id of ['known', 'lost', 'released']) await begin(store, id)
      const taken = Object.fromEntries(
        (await store.claimDue(claim)).map((one) => [one.id, one.type === 'taken' ? one.epoch : 0]),
      )
      await store.releaseLease('released', taken['released']!)
      const known = [{ tenant: 'default', id: 'known', epoch: taken['known']!, seq: 1 }]
      const strays = [{ tenant: 'default', id: 'lost', epoch: taken['lost']! }]
      expect(await store.keepLeases('one', minute, known)).toEqual({ lost: [], grown: [], strays })
      await store.releaseLease('lost', taken['lost']!)
      expect(idsOf(await store.claimDue({ ...claim, holder: 'two' }))).toEqual(['lost', 'released'])
      const change = { events: [titled('A')], epoch: taken['known']! }
      expect(await store.commit('known', change)).toMatchObject({ ok: true })
      expect(await store.commit('lost', { ...change, epoch: taken['lost']! })).toMatchObject({ conflict: 'epoch' })
    })

    test('what a claim brings of a log is its end, and its beginning only where no summary stands for it', async ({
      store,
    }) => {
      for (const id of ['plain', 'told']) {
        await begin(store, id)
        await store.appendEvent(id, titled('A'))
      }
      await store.putSummary('told', { fromSeq: 1, toSeq: 1, content: 'hello', version: 1, base: null })
      const brought = Object.fromEntries(
        (await store.claimDue(claim)).map((one) => [
          one.id,
          one.type === 'taken' && one.log ? [...one.log.events] : [],
        ]),
      )
      expect(Object.keys(brought).sort()).toEqual(['plain', 'told'])
      for (const [id, events] of Object.entries(brought))
        expect(events).toEqual((await store.streamEvents(id)).slice(2 - events.length))
      expect(brought['told']!.length).toBeLessThan(2)
    })

    test('a conversation is left alone until its log is longer, or however long it is', async ({ store }) => {
      for (const id of ['same', 'grown', 'never', 'free']) await begin(store, id)
      await begin(store.forTenant('acme'), 'same')
      await store.appendEvent('grown', titled('A'))
      await store.appendEvent('never', titled('A'))
      const left = (id: string, seq: number | null) => ({ tenant: 'default', id, seq })
      const except = [left('same', 1), left('grown', 1), left('never', null), left('absent', 7)]
      const found = await store.claimDue({ ...claim, except })
      expect(found.map(({ tenant, id }) => `${tenant} ${id}`).sort()).toEqual([
        'acme same',
        'default free',
        'default grown',
      ])
      expect(idsOf(await store.claimDue({ ...claim, limit: 1, except: [left('same', 1)] }))).toEqual(['never'])
      expect(idsOf(await store.claimDue(claim))).toEqual(['same'])
    })

    test('of named conversations those are taken that are due, and no others', async ({ store, pass }) => {
      for (const id of ['a', 'b', 'other', 'lapsed', 'parked', 'held']) await begin(store, id)
      await begin(store.forTenant('acme'), 'a')
      await store.acquireLease('held', 'two', minute)
      await store.acquireLease('lapsed', 'two', 10)
      await store.commit('parked', { events: [], wakeAt: null })
      await pass(20)
      const ref = (id: string) => ({ tenant: 'default', id })
      const only = ['a', 'b', 'b', 'lapsed', 'parked', 'held', 'absent'].map(ref)
      expect(await store.claimDue({ ...claim, only: [] })).toEqual([])
      const except = [{ ...ref('b'), seq: 1 }]
      expect(await store.claimDue({ ...claim, only, except, suspects: 9 })).toMatchObject([
        { tenant: 'default', id: 'a' },
      ])
      expect(idsOf(await store.claimDue({ ...claim, only, limit: 1 }))).toEqual(['b'])
      expect(idsOf(await store.claimDue({ ...claim, suspects: 9 }))).toEqual(['a', 'lapsed', 'other'])
    })

    test('of those with lapses no more are taken than asked for, and they are counted', async ({ store, pass }) => {
      for (const id of ['first', 'second', 'free']) await begin(store, id)
      await store.acquireLease('first', 'dead', 10)
      await pass(5)
      await store.acquireLease('second', 'dead', 10)
      await pass(20)
      expect(idsOf(await store.claimDue({ ...claim, ttlMs: 10 }))).toEqual(['free'])
      const except = [{ tenant: 'default', id: 'absent', seq: 1 }]
      const [one, ...more] = await store.claimDue({ ...claim, holder: 'two', suspects: 1, except })
      expect([one, more]).toMatchObject([{ type: 'taken', lapses: 1 }, []])
      expect(await store.claimDue({ ...claim, holder: 'two', suspects: 1 })).toMatchObject([{ lapses: 1 }])
      await pass(20)
      expect(await store.claimDue({ ...claim, holder: 'two', suspects: 9 })).toMatchObject([{ id: 'free', lapses: 1 }])
    })

    test('a holder that claims its own lapsed lease lives: it did not lapse', async ({ store, pass }) => {
      await begin(store, 'chat')
      await store.claimDue({ ...claim, ttlMs: 10 })
      await pass(20)
      expect(await store.claimDue({ ...claim, suspects: 1 })).toMatchObject([{ id: 'chat', lapses: 0 }])
    })

    test('the claim that finds the fifth lapse quarantines, and takes the others', async ({ store, pass }) => {
      await begin(store, 'poison')
      for (let lapse = 0; lapse < 5; lapse++) {
        await store.claimLease('poison', `dead-${lapse}`, 1)
        await pass(5)
      }
      await begin(store, 'free')
      expect(await store.claimDue({ ...claim, suspects: 1 })).toMatchObject([
        { type: 'quarantined', tenant: 'default', id: 'poison' },
        { type: 'taken', id: 'free' },
      ])
      expect((await store.getConversation('poison'))!.quarantine === undefined).toBe(false)
      expect(await store.claimDue({ ...claim, suspects: 1 })).toEqual([])
    })

    testTwoStores(
      'two that claim at once share what is due, and neither gets what the other has',
      async ({ store, other }) => {
        const ids = Array.from({ length: 20 }, (_, n) => `c${n}`)
        for (const id of ids) await begin(store, id)
        const taken = new Map<string, string>()
        const claimAll = async (by: Store, holder: string) => {
          for (;;) {
            const found = await by.claimDue({ ...claim, holder, limit: 3 })
            for (const { id } of found) {
              expect(taken.get(id)).toBe(undefined)
              taken.set(id, holder)
            }
            if (found.length === 0 && (await by.dueWork({ agents: ['support'], limit: 1 })).length === 0) return
          }
        }
        await Promise.all([claimAll(store, 'one'), claimAll(other, 'two')])
        expect([...taken.keys()].sort()).toEqual(ids.sort())
      },
    )

    testLeaping('a clock that is put back leaves due what was due', async ({ store, leap }) => {
      for (const id of ['due', 'asleep']) await begin(store, id)
      await store.commit('asleep', { events: [], wakeAt: { inMs: minute } })
      expect(await store.claimDue({ ...claim, agents: ['sales'] })).toEqual([])
      await leap(-10 * minute)
      expect(idsOf(await store.claimDue(claim))).toEqual(['due'])
    })
  })
}

function idsOf(found: readonly ClaimedDue[]): string[] {
  return found.map(({ id }) => id).sort()
}

async function begin(store: TenantStore, id: string, agent = 'support'): Promise<void> {
  await store.commit(id, { events: [userMsg()], conversation: { agent } })
}
