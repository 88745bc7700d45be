import type { Store } from '../../store/store.ts'
import { titled, userMsg } from './event-builders.ts'
import type { Suite } from './suite.ts'

export function movedLogs({ describe, test, expect }: Suite): void {
  describe('logs that have moved', () => {
    const known = async (store: Store, tenant: string, id: string) => {
      const last = (await store.forTenant(tenant).streamEvents(id)).at(-1)
      return { tenant, id, seq: last?.seq ?? 0, at: last?.at ?? null, status: null }
    }

    test('are those that have grown, also of other tenants, and no others', async ({ store }) => {
      const acme = store.forTenant('acme')
      for (const handle of [store, acme]) for (const id of ['one', 'two']) await handle.appendEvent(id, userMsg())
      const places = [
        ['default', 'one'],
        ['default', 'two'],
        ['acme', 'one'],
        ['acme', 'two'],
      ] as const
      const watched = await Promise.all(places.map(([tenant, id]) => known(store, tenant, id)))
      expect(await store.movedLogs(watched)).toEqual([])
      await store.appendEvent('two', titled('A'))
      await acme.appendEvent('one', titled('A'))
      expect(await store.movedLogs(watched)).toEqual([
        { tenant: 'default', id: 'two' },
        { tenant: 'acme', id: 'one' },
      ])
    })

    test('are those that begin, that are known to be longer than they are, and that are gone', async ({ store }) => {
      const none = { tenant: 'default', id: 'none', seq: 0, at: null, status: null }
      expect(await store.movedLogs([none])).toEqual([])
      await store.appendEvent('gone', userMsg())
      const gone = await known(store, 'default', 'gone')
      expect(await store.movedLogs([{ ...gone, seq: 2 }])).toEqual([{ tenant: 'default', id: 'gone' }])
      await store.deleteConversation('gone')
      await store.appendEvent('none', userMsg())
      expect(await store.movedLogs([none, gone])).toEqual([
        { tenant: 'default', id: 'none' },
        { tenant: 'default', id: 'gone' },
      ])
    })

    test('are those that were deleted and begun anew, though they are as long', async ({ store }) => {
      await store.appendEvent('chat', userMsg())
      const before = await known(store, 'default', 'chat')
      await store.deleteConversation('chat')
      await store.appendEvent('chat', userMsg())
      expect(await store.movedLogs([before, { ...before, at: null }])).toEqual([{ tenant: 'default', id: 'chat' }])
    })

    test('are those that stand otherwise in lists, for watchers to whom that matters', async ({ store }) => {
      await store.appendEvent('chat', userMsg())
      await store.putConversation('chat', { status: 'active' })
      const active = { ...(await known(store, 'default', 'chat')), status: 'active' as const }
      const missing = { tenant: 'default', id: 'none', seq: 0, at: null, status: 'active' as const }
      expect(await store.movedLogs([active])).toEqual([])
      await store.putConversation('chat', { status: 'suspended' })
      expect(await store.movedLogs([active, { ...active, status: null }, missing])).toEqual([
        { tenant: 'default', id: 'chat' },
        { tenant: 'default', id: 'none' },
      ])
    })

    test('are those that are quarantined, for watchers to whom it matters how they stand', async ({ store, pass }) => {
      await store.appendEvent('poison', userMsg())
      await store.putConversation('poison', { status: 'active' })
      const active = { ...(await known(store, 'default', 'poison')), status: 'active' as const }
      for (let lapses = 0; lapses < 5; lapses++) {
        await store.claimLease('poison', `holder-${lapses}`, 10)
        await pass(20)
      }
      expect(await store.movedLogs([active])).toEqual([])
      expect(await store.claimLease('poison', 'six', 60_000)).toEqual({ type: 'quarantined' })
      expect(await store.movedLogs([active, { ...active, status: null }])).toEqual([
        { tenant: 'default', id: 'poison' },
      ])
      expect(await store.movedLogs([{ ...active, status: null }])).toEqual([])
      await store.unquarantine('poison')
      expect(await store.movedLogs([active])).toEqual([])
    })

    test('are found among thousands, whatever their ids', async ({ store }) => {
      const odd = ['a"b', "it's", 'ünïcödé 🦊', '{a,b}', 'a\\b', 'NULL']
      for (const id of odd) await store.appendEvent(id, userMsg())
      const known = odd.map((id) => ({ tenant: 'default', id, seq: 0, at: null, status: null }))
      const others = (from: number) =>
        Array.from({ length: 1_500 }, (_, n) => ({ tenant: 'x', id: `${from + n}`, seq: 0, at: null, status: null }))
      const moved = await store.movedLogs([...others(0), ...known, ...others(1_500)])
      expect(moved.map(({ id }) => id)).toEqual(odd)
    })
  })
}
