import type { TenantStore } from '../../store/store.ts'
import { userMsg } from './event-builders.ts'
import type { Suite } from './suite.ts'

const minute = 60_000

export function dueWork({ describe, test, testTwoStores, expect }: Suite): void {
  describe('due work', () => {
    test('only the agents that are asked for are found', async ({ store }) => {
      await begin(store, 'one', 'support')
      await begin(store, 'two', 'sales')
      await begin(store, 'three', 'Support')
      await store.appendEvent('nobody', userMsg())
      const found = async (agents: string[]) =>
        (await store.dueWork({ agents, limit: 9 })).map((work) => work.id).sort()
      expect(await found(['support'])).toEqual(['one'])
      expect(await found(['sales', 'support'])).toEqual(['one', 'two'])
      expect(await found(['billing'])).toEqual([])
      expect(await found([])).toEqual([])
    })

    test('what somebody holds is not found until the lease has lapsed or is released', async ({ store, pass }) => {
      await begin(store, 'held', 'support')
      await begin(store, 'lapsed', 'support')
      await begin(store, 'released', 'support')
      await store.acquireLease('held', 'one', minute)
      await store.acquireLease('lapsed', 'one', 10)
      const { epoch } = (await store.acquireLease('released', 'one', minute))!
      await store.releaseLease('released', epoch)
      await pass(20)
      const found = await store.dueWork({ agents: ['support'], limit: 9 })
      expect(found.map((work) => work.id).sort()).toEqual(['lapsed', 'released'])
    })

    test('the longest due comes first, and a limit keeps the first', async ({ store, pass }) => {
      for (const id of ['c', 'a', 'b']) {
        await begin(store, id, 'support')
        await pass(3)
      }
      const found = async (limit: number) =>
        (await store.dueWork({ agents: ['support'], limit })).map((work) => work.id)
      expect(await found(9)).toEqual(['c', 'a', 'b'])
      expect(await found(2)).toEqual(['c', 'a'])
      await store.appendEvent('c', userMsg())
      expect(await found(9)).toEqual(['a', 'b', 'c'])
    })

    test('the work of all tenants is found, with the tenant it belongs to', async ({ store, pass }) => {
      for (const tenant of ['acme', 'default', 'globex']) {
        await begin(store.forTenant(tenant), 'chat', 'support')
        await pass(3)
      }
      expect(await store.dueWork({ agents: ['support'], limit: 9 })).toEqual([
        { tenant: 'acme', id: 'chat' },
        { tenant: 'default', id: 'chat' },
        { tenant: 'globex', id: 'chat' },
      ])
    })

    test('what has no wake-up, a later one, or was deleted is not found', async ({ store }) => {
      await begin(store, 'parked', 'support')
      await store.commit('parked', { events: [], wakeAt: null })
      await begin(store, 'later', 'support')
      await store.commit('later', { events: [], wakeAt: { inMs: minute } })
      await begin(store, 'deleted', 'support')
      await store.deleteConversation('deleted')
      await store.putConversation('quiet', { agent: 'support' })
      expect(await store.dueWork({ agents: ['support'], limit: 9 })).toEqual([])
    })

    test('a conversation is found under the agent it was given last', async ({ store }) => {
      await begin(store, 'chat', 'support')
      await store.putConversation('chat', { agent: 'sales' })
      expect(await store.dueWork({ agents: ['support'], limit: 9 })).toEqual([])
      expect(await store.dueWork({ agents: ['sales'], limit: 9 })).toEqual([{ tenant: 'default', id: 'chat' }])
    })

    testTwoStores('what one store wrote is due in the other, and what it holds is not', async ({ store, other }) => {
      await begin(store, 'chat', 'support')
      expect(await other.dueWork({ agents: ['support'], limit: 9 })).toEqual([{ tenant: 'default', id: 'chat' }])
      await store.acquireLease('chat', 'one', minute)
      expect(await other.dueWork({ agents: ['support'], limit: 9 })).toEqual([])
      expect(await other.acquireLease('chat', 'two', minute)).toBe(null)
    })
  })
}

async function begin(store: TenantStore, id: string, agent: string): Promise<void> {
  await store.commit(id, { events: [userMsg()], conversation: { agent } })
}
