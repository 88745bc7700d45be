import { userMsg } from './event-builders.ts'
import type { Suite } from './suite.ts'

const minute = 60_000
const query = { agents: ['support'], limit: 9, leaseMs: 1_000 }

export function clocks({ describe, testLeaping, expect }: Suite): void {
  describe('a clock that is put back', () => {
    testLeaping('leaves due what was due, and asleep what was not', async ({ store, leap }) => {
      for (const id of ['due', 'asleep']) await store.putConversation(id, { agent: 'support' })
      await store.commit('due', { events: [userMsg()], wakeAt: 'now' })
      await store.commit('asleep', { events: [userMsg()], wakeAt: { inMs: minute } })
      expect(await store.dueWork(query)).toEqual([{ tenant: 'default', id: 'due' }])
      await leap(-10 * minute)
      expect(await store.dueWork(query)).toEqual([{ tenant: 'default', id: 'due' }])
      await leap(10 * minute)
      expect(await store.dueWork(query)).toEqual([{ tenant: 'default', id: 'due' }])
      await leap(minute)
      expect((await store.dueWork(query)).map(({ id }) => id)).toEqual(['due', 'asleep'])
    })

    testLeaping('leaves a lease to a holder that renews it, and to no other for long', async ({ store, leap }) => {
      for (const id of ['living', 'dead']) {
        await store.putConversation(id, { agent: 'support' })
        await store.commit(id, { events: [userMsg()], wakeAt: 'now' })
      }
      const { epoch } = (await store.acquireLease('living', 'one', 1_000))!
      await store.acquireLease('dead', 'two', 1_000)
      expect(await store.dueWork(query)).toEqual([])
      await leap(-10 * minute)
      expect(await store.dueWork(query)).toEqual([])
      for (const id of ['living', 'dead']) expect(await store.acquireLease(id, 'three', 1_000)).toBe(null)
      await leap(2_999)
      expect(await store.dueWork(query)).toEqual([])
      await store.keepLeases('one', 1_000, [{ tenant: 'default', id: 'living', epoch, seq: 1 }])
      await leap(1)
      expect(await store.dueWork(query)).toEqual([{ tenant: 'default', id: 'dead' }])
      await leap(999)
      expect((await store.dueWork(query)).map(({ id }) => id).sort()).toEqual(['dead', 'living'])
    })

    testLeaping(
      'leaves a quarantine as it is, and leases where none are told how long they last',
      async ({ store, leap }) => {
        for (const id of ['poison', 'held']) {
          await store.putConversation(id, { agent: 'support' })
          await store.commit(id, { events: [userMsg()], wakeAt: 'now' })
        }
        for (let lapses = 0; lapses < 5; lapses++) {
          await store.claimLease('poison', `holder-${lapses}`, 10)
          await leap(20)
        }
        expect(await store.claimLease('poison', 'six', minute)).toEqual({ type: 'quarantined' })
        await store.acquireLease('held', 'one', minute)
        expect(await store.dueWork({ agents: ['support'], limit: 9 })).toEqual([])
        await leap(-10 * minute)
        expect(await store.dueWork({ agents: ['support'], limit: 9 })).toEqual([])
        await leap(5 * minute)
        expect(await store.dueWork({ agents: ['support'], limit: 9 })).toEqual([])
        expect(await store.claimLease('held', 'two', minute)).toEqual({ type: 'held' })
        await leap(-10 * minute)
        expect(await store.dueWork(query)).toEqual([])
        await leap(minute)
        expect(await store.dueWork(query)).toEqual([{ tenant: 'default', id: 'held' }])
      },
    )
  })
}
