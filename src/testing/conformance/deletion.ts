import type { Summary } from '../../store/summary.ts'
import { titled, userMsg } from './event-builders.ts'
import { observe } from './observe.ts'
import type { Suite } from './suite.ts'
import { suspendCalls } from './suspend-calls.ts'

export function deletion({ describe, test, expect }: Suite): void {
  describe('deletion', () => {
    test('nothing is left of a deleted conversation, and nothing else is touched', async ({ store, pass }) => {
      const summary: Summary = { fromSeq: 1, toSeq: 1, content: 'short', version: 1, base: null }
      for (const id of ['gone', 'kept']) {
        await suspendCalls(store, id, [`call of ${id}`], { expiresInMs: 60_000 })
        await store.appendEvent(id, userMsg('more', 'turn-2'))
        await store.putSummary(id, summary)
        await store.putModelCall(id, { turnRef: 'turn' })
        await store.putSnapshot(id, { id })
      }
      const kept = { ids: ['kept'], callIds: ['call of kept'] }
      expect(await store.deleteConversation('gone')).toBe(true)
      const before = await observe(store, kept)
      expect(await store.getConversation('gone')).toBe(null)
      expect(await store.streamEvents('gone')).toEqual([])
      expect(await store.loadSince('gone')).toEqual({ summary: null, events: [] })
      expect(await store.latestSummary('gone')).toBe(null)
      expect(await store.getToolCall('call of gone')).toBe(null)
      expect(await store.pendingToolCalls('gone')).toEqual([])
      expect(await store.modelCalls('gone')).toEqual([])
      expect(await store.getSnapshot('gone')).toBe(null)
      expect((await store.listConversations()).map((record) => record.id)).toEqual(['kept'])
      expect((await store.pendingInbox()).map((call) => call.id)).toEqual(['call of kept'])
      expect(await store.dueWork({ agents: ['support'], limit: 9 })).toEqual([{ tenant: 'default', id: 'kept' }])
      expect(await store.deleteConversation('gone')).toBe(false)
      await pass(5)
      expect(await observe(store, kept)).toEqual(before)
      expect(before).toMatchObject({
        conversations: [{ revival: { summary }, modelCalls: [{ turnRef: 'turn' }], snapshot: { id: 'kept' } }],
      })
    })

    test('a deadline of a deleted conversation fires nowhere', async ({ store, pass }) => {
      await suspendCalls(store, 'chat', ['call'])
      await store.scheduleExpiry('chat', 'call', 100)
      await store.deleteConversation('chat')
      await pass(150)
      expect(await store.streamEvents('chat')).toEqual([])
      expect(await store.getConversation('chat')).toBe(null)
      expect(await store.resolveToolCall('call', 'resolved', null)).toBe('stale')
    })

    test('the ids of a deleted conversation and its calls are free again', async ({ store }) => {
      await suspendCalls(store, 'chat', ['call'])
      await store.deleteConversation('chat')
      await store.upsertToolCall('other', { id: 'call' })
      expect((await store.getToolCall('call'))!.conversationId).toBe('other')
      await suspendCalls(store, 'chat', ['another'])
      expect((await store.getConversation('chat'))!.lastSeq).toBe(4)
    })

    test('what is begun anew is later than all that was deleted, however soon it comes', async ({ store }) => {
      const begin = async (): Promise<number> => {
        const result = await store.commit('chat', { events: [userMsg(), titled('A')] })
        return (result.ok && result.at) || 0
      }
      const times: number[] = []
      for (let round = 0; round < 12; round++) {
        times.push(await begin())
        if (round % 2 === 0) await store.deleteConversation('chat')
        else await store.deleteTenant('default')
      }
      expect(times).toEqual([...new Set(times)].sort((left, right) => left - right))
    })

    test('child agents go with their parent, and theirs with them', async ({ store }) => {
      await suspendCalls(store, 'parent', ['call'])
      await child(store, 'child', 'parent')
      await child(store, 'grandchild', 'child')
      await child(store, 'stranger', 'somebody else')
      await suspendCalls(store, 'waiting child', ['question'])
      await store.putConversation('waiting child', { parent: { id: 'parent', callId: 'call' } })
      expect(await store.deleteConversation('parent')).toBe(true)
      expect((await store.listConversations()).map((record) => record.id)).toEqual(['stranger'])
      expect(await store.getToolCall('question')).toBe(null)
      expect(await store.streamEvents('grandchild')).toEqual([])
    })

    test('a parent stays when its child goes', async ({ store }) => {
      await store.appendEvent('parent', userMsg())
      await child(store, 'child', 'parent')
      await store.deleteConversation('child')
      expect((await store.listConversations()).map((record) => record.id)).toEqual(['parent'])
    })

    test('forks stay, also those of a child agent', async ({ store }) => {
      await store.appendEvent('parent', userMsg())
      await child(store, 'child', 'parent')
      await store.fork('parent', 'fork of parent')
      await store.fork('child', 'fork of child')
      await store.deleteConversation('parent')
      const left = (await store.listConversations()).map((record) => record.id).sort()
      expect(left).toEqual(['fork of child', 'fork of parent'])
      expect((await store.streamEvents('fork of parent')).length).toBe(1)
    })

    test('a conversation can be deleted while others are written', async ({ store }) => {
      const ids = Array.from({ length: 10 }, (_, index) => `chat-${index}`)
      await Promise.all(ids.map((id) => store.appendEvent(id, userMsg())))
      await Promise.all(
        ids.map((id, index) => (index % 2 ? store.deleteConversation(id) : store.appendEvent(id, titled('A')))),
      )
      const lengths = await Promise.all(ids.map(async (id) => (await store.streamEvents(id)).length))
      expect(lengths).toEqual(ids.map((_, index) => (index % 2 ? 0 : 2)))
    })
  })

  async function child(store: Parameters<typeof suspendCalls>[0], id: string, parent: string): Promise<void> {
    await store.commit(id, {
      events: [userMsg()],
      conversation: { parent: { id: parent, callId: `call of ${parent}` } },
    })
  }
}
