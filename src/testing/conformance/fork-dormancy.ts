import type { Store } from '../../store/store.ts'
import { resolution, titled, userMsg } from './event-builders.ts'
import type { Suite } from './suite.ts'
import { suspendCalls } from './suspend-calls.ts'

export function forkDormancy({ describe, test, testReopening, expect }: Suite): void {
  describe('a fork does nothing by itself', () => {
    test('a fork is not due, though its source is', async ({ store }) => {
      await store.commit('chat', { events: [userMsg()], conversation: { agent: 'support' } })
      await store.fork('chat', 'copy')
      expect(await due(store)).toEqual(['chat'])
    })

    test('an expiry in a fork is recorded and does not wake it', async ({ store, eventually }) => {
      await suspendCalls(store, 'chat', ['call'])
      await store.fork('chat', 'copy')
      const before = (await store.getConversation('copy'))!
      await expireBoth(store)
      await eventually('both expire', async () => (await store.pendingInbox()).length === 0)
      expect(await due(store)).toEqual(['chat'])
      const last = (await store.streamEvents('copy')).at(-1)!
      expect(last).toMatchObject({ seq: 5, type: 'resolution', content: { status: 'expired' } })
      expect((await store.getConversation('copy'))!.status).toBe(before.status)
    })

    const awakening: readonly [string, (store: Store, callId: string) => Promise<unknown>][] = [
      ['a message', (store) => store.appendEvent('copy', userMsg('go on', 'turn-2'))],
      ['an answer', (store, callId) => store.resolveToolCall(callId, 'resolved', true)],
      [
        'a commit with an answer',
        (store, callId) =>
          store.commit('copy', {
            events: [resolution(callId)],
            resolve: [{ callId, round: 1, status: 'resolved', result: true }],
          }),
      ],
      ['an explicit wake-up', (store) => store.commit('copy', { events: [], wakeAt: 'now' })],
    ]
    for (const [name, awaken] of awakening) {
      test(`${name} wakes a fork, and from then on an expiry does too`, async ({ store, eventually }) => {
        await suspendCalls(store, 'chat', ['one', 'two'])
        await store.fork('chat', 'copy')
        const [first, second] = await store.pendingToolCalls('copy')
        await awaken(store, first!.id)
        expect(await due(store)).toEqual(['copy'])
        await store.commit('copy', { events: [], wakeAt: null })
        expect(await due(store)).toEqual([])
        await store.scheduleExpiry('copy', second!.id, 10)
        await eventually('the fork is due', async () => (await due(store)).includes('copy'))
        expect((await store.getToolCall(second!.id))!.status).toBe('expired')
      })
    }

    test('what does not wake leaves a fork as quiet as it was', async ({ store, eventually }) => {
      await suspendCalls(store, 'chat', ['call'])
      await store.fork('chat', 'copy')
      const [call] = await store.pendingToolCalls('copy')
      await store.appendEvent('copy', titled('A'))
      await store.putConversation('copy', { title: 'A' })
      const { epoch } = (await store.acquireLease('copy', 'one', 60_000))!
      await store.commit('copy', { events: [], epoch, wakeAt: null, lease: 'release' })
      await store.scheduleExpiry('copy', call!.id, 10)
      await eventually('it expires', async () => (await store.pendingToolCalls('copy')).length === 0)
      expect(await due(store)).toEqual([])
    })

    testReopening('a fork is still quiet after the store was opened again', async ({ store, reopen, eventually }) => {
      await suspendCalls(store, 'chat', ['call'])
      await store.fork('chat', 'copy')
      const again = await reopen()
      await expireBoth(again)
      await eventually('both expire', async () => (await again.pendingInbox()).length === 0)
      expect(await due(again)).toEqual(['chat'])
    })
  })
}

async function expireBoth(store: Store): Promise<void> {
  for (const { id, conversationId } of await store.pendingInbox()) await store.scheduleExpiry(conversationId, id, 10)
}

async function due(store: Store): Promise<string[]> {
  return (await store.dueWork({ agents: ['support'], limit: 9 })).map((work) => work.id).sort()
}
