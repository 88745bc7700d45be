import type { PendingCall } from '../../store/tool-call.ts'
import type { Suite } from './suite.ts'
import { suspendCalls } from './suspend-calls.ts'

export function inbox({ describe, test, expect, refused }: Suite): void {
  describe('the inbox', () => {
    test('all that waits in any conversation is there, newest first, with agent and title', async ({ store, pass }) => {
      expect(await store.pendingInbox()).toEqual([])
      await suspendCalls(store, 'one', ['first'], { agent: 'support', title: 'Refund' })
      await pass(3)
      await suspendCalls(store, 'two', ['second'], { agent: 'sales' })
      await pass(3)
      await store.upsertToolCall('three', { id: 'third' })
      expect(await store.pendingInbox()).toEqual([
        { ...(await store.getToolCall('third')), agent: null, title: null },
        { ...(await store.getToolCall('second')), agent: 'sales', title: null },
        { ...(await store.getToolCall('first')), agent: 'support', title: 'Refund' },
      ])
    })

    test('what has ended is gone, and what waits again is back', async ({ store }) => {
      await suspendCalls(store, 'chat', ['one', 'two'])
      await store.resolveToolCall('one', 'denied', null)
      expect((await store.pendingInbox()).map((call) => call.id)).toEqual(['two'])
      await store.upsertToolCall('chat', { id: 'one', round: 2 })
      expect((await store.pendingInbox()).map((call) => call.id).sort()).toEqual(['one', 'two'])
      await store.deleteConversation('chat')
      expect(await store.pendingInbox()).toEqual([])
    })

    test('pages show every call once, in one order, also those of one moment', async ({ store }) => {
      const names = ['a', 'A', 'b', 'é', '～', '😀', 'z', '10', '9', "x'y", 'x%']
      await Promise.all([
        suspendCalls(store, 'one', names),
        suspendCalls(
          store,
          'two',
          names.map((name) => `${name}2`),
        ),
      ])
      const all = await store.pendingInbox()
      expect(all.length).toBe(22)
      expect(all).toEqual([...all].sort(newestFirst))
      const paged: PendingCall[] = []
      for (let page = await store.pendingInbox({ limit: 4 }); page.length > 0; ) {
        paged.push(...page)
        page = await store.pendingInbox({ limit: 4, before: page.at(-1)!.id })
      }
      expect(paged).toEqual(all)
    })

    test('the next page begins at the right place though its last call has ended', async ({ store }) => {
      await suspendCalls(store, 'chat', ['a', 'b', 'c', 'd'])
      const first = await store.pendingInbox({ limit: 2 })
      expect(first.map((call) => call.id)).toEqual(['d', 'c'])
      await store.resolveToolCall('c', 'resolved', null)
      expect((await store.pendingInbox({ before: 'c' })).map((call) => call.id)).toEqual(['b', 'a'])
    })

    test('a page that begins before a call nobody knows is refused', async ({ store }) => {
      await suspendCalls(store, 'chat', ['call'])
      await refused('call_not_found', () => store.pendingInbox({ before: 'nothing' }))
    })

    test('an inbox without a limit ends at a hundred', async ({ store }) => {
      const ids = Array.from({ length: 105 }, (_, index) => `call-${index}`)
      await suspendCalls(store, 'chat', ids)
      expect((await store.pendingInbox()).length).toBe(100)
      expect((await store.pendingInbox({ limit: 1_000 })).length).toBe(105)
    })
  })
}

function newestFirst(left: PendingCall, right: PendingCall): number {
  return right.createdAt - left.createdAt || Buffer.compare(Buffer.from(right.id), Buffer.from(left.id))
}
