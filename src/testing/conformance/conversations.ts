import type { JsonObject } from '../../base/json.ts'
import type { Store } from '../../store/store.ts'
import { fsmState, titled, userMsg } from './event-builders.ts'
import type { Suite } from './suite.ts'

export function conversations({ describe, test, testTwoStores, expect, refused }: Suite): void {
  describe('conversations', () => {
    test('what a conversation is given is read back', async ({ store }) => {
      const attrs = {
        kind: 'flow',
        agent: 'checkout',
        status: 'ended',
        settings: { colour: 'red' },
        fsmState: fsmState('awaiting_input', 7, ['call']),
        title: 'A title',
        parent: { id: 'mother', at: 3 },
      } as const
      await store.putConversation('chat', attrs)
      const { createdAt, updatedAt, ...record } = (await store.getConversation('chat'))!
      expect(record).toEqual({ id: 'chat', lastSeq: 0, ...attrs })
      expect(updatedAt).toBe(createdAt)
    })

    test('only what is given changes', async ({ store, pass }) => {
      await store.putConversation('chat', { agent: 'support', title: 'A title', settings: { colour: 'red' } })
      const before = (await store.getConversation('chat'))!
      await pass(5)
      await store.putConversation('chat', { status: 'ended' })
      const after = (await store.getConversation('chat'))!
      expect(after).toEqual({ ...before, status: 'ended', updatedAt: after.updatedAt })
      expect(after.updatedAt).toBeGreaterThan(before.updatedAt)
    })

    test('a title can be taken away', async ({ store }) => {
      await store.putConversation('chat', { title: 'A title' })
      await store.putConversation('chat', { title: null })
      expect((await store.getConversation('chat'))!.title).toBe(null)
    })

    test('settings merge key by key, and no deeper', async ({ store }) => {
      await store.putConversation('chat', { settings: { keep: 1, change: { deep: 1 }, empty: 'no' } })
      await store.putConversation('chat', { settings: { change: { other: 2 }, empty: null, more: [] } })
      expect((await store.getConversation('chat'))!.settings).toEqual({
        keep: 1,
        change: { other: 2 },
        empty: null,
        more: [],
      })
    })

    test('a setting may be called __proto__', async ({ store }) => {
      const hostile = JSON.parse('{"__proto__":{"admin":true},"constructor":1}') as JsonObject
      await store.putConversation('chat', { settings: { first: 1 } })
      await store.putConversation('chat', { settings: hostile })
      const { settings } = (await store.getConversation('chat'))!
      expect(JSON.stringify(settings)).toBe('{"first":1,"__proto__":{"admin":true},"constructor":1}')
      expect((settings as { admin?: boolean }).admin).toBe(undefined)
    })

    test('settings that are put at once are all kept', async ({ store }) => {
      await twentySettings([store])
    })

    testTwoStores('settings that are put at once through two stores are all kept', async ({ store, other }) => {
      await twentySettings([store, other])
    })

    test('the cached state is replaced whole and decides the status', async ({ store }) => {
      const cases = [
        ['idle', 'idle'],
        ['running', 'active'],
        ['awaiting_input', 'suspended'],
        ['terminating', 'active'],
      ] as const
      for (const [state, status] of cases) {
        await store.putFsmState('chat', fsmState(state, 4, ['call']))
        expect(await store.getConversation('chat')).toMatchObject({
          fsmState: fsmState(state, 4, ['call']),
          status,
          lastSeq: 0,
        })
      }
    })

    test('what a message is planned on is told by commits that know the log, never by a cached state', async ({
      store,
    }) => {
      expect(await store.standing('nobody')).toBe(null)
      const idle = async () => (await store.standing('chat'))!.isIdle
      await store.commit('chat', { events: [userMsg()], conversation: { agent: 'support' } })
      expect(await store.standing('chat')).toMatchObject({ agent: 'support', lastSeq: 1, isIdle: false })
      await store.putFsmState('chat', fsmState('idle', 1))
      await store.putConversation('chat', { fsmState: fsmState('idle', 1), status: 'idle' })
      await store.commit('chat', { events: [], fsmState: fsmState('idle', 1) })
      expect(await idle()).toBe(false)
      await store.commit('chat', { events: [titled('A')], expectedSeq: 1, fsmState: fsmState('idle', 2) })
      expect(await idle()).toBe(true)
      await store.putFsmState('chat', fsmState('running', 2))
      expect(await idle()).toBe(true)
      expect((await store.getConversation('chat'))!.fsmState).toEqual(fsmState('running', 2))
      await store.appendEvent('chat', titled('B'))
      expect(await store.standing('chat')).toMatchObject({ agent: 'support', lastSeq: 3, isIdle: false })
      const { epoch } = (await store.acquireLease('chat', 'owner', 60_000))!
      await store.commit('chat', { events: [], epoch, fsmState: fsmState('idle', 3) })
      expect(await idle()).toBe(true)
      await store.commit('chat', { events: [], epoch, fsmState: fsmState('running', 3) })
      expect(await idle()).toBe(false)
    })

    test('a copy is not known to be idle', async ({ store }) => {
      await store.commit('chat', { events: [userMsg()], expectedSeq: 0, fsmState: fsmState('idle', 1) })
      await store.fork('chat', 'copy')
      expect([(await store.standing('chat'))!.isIdle, (await store.standing('copy'))!.isIdle]).toEqual([true, false])
    })

    test('a title is a text or nothing', async ({ store }) => {
      for (const title of [7, {}, ['A'], true]) {
        await refused('invalid_argument', () => store.putConversation('chat', { title: title as never }))
      }
    })

    test('a commit writes attributes and cached state with its events', async ({ store }) => {
      await store.commit('chat', {
        events: [userMsg(), titled('A title')],
        conversation: { agent: 'support', title: 'A title', settings: { colour: 'red' } },
        fsmState: fsmState('running', 2),
      })
      expect(await store.getConversation('chat')).toMatchObject({
        agent: 'support',
        title: 'A title',
        settings: { colour: 'red' },
        fsmState: fsmState('running', 2),
        status: 'active',
        lastSeq: 2,
      })
    })

    test('each event moves the last seq and the time of change', async ({ store, pass }) => {
      await store.appendEvent('chat', userMsg())
      const first = (await store.getConversation('chat'))!
      await pass(5)
      await store.appendEvent('chat', titled('A'))
      const second = (await store.getConversation('chat'))!
      expect(second.lastSeq).toBe(2)
      expect(second.createdAt).toBe(first.createdAt)
      expect(second.updatedAt).toBeGreaterThan(first.updatedAt)
      expect(second.updatedAt).toBe((await store.streamEvents('chat')).at(-1)!.at)
    })
  })

  async function twentySettings(stores: readonly Store[]): Promise<void> {
    const names = Array.from({ length: 20 }, (_, index) => `setting-${index}`)
    await Promise.all(
      names.map((name, index) =>
        stores[index % stores.length]!.putConversation('chat', { settings: { [name]: name } }),
      ),
    )
    expect(Object.keys((await stores[0]!.getConversation('chat'))!.settings).sort()).toEqual([...names].sort())
  }
}
