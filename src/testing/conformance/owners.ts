import type { NewEvent } from '../../log/events.ts'
import { userMsg } from './event-builders.ts'
import type { Suite } from './suite.ts'

export function owners({ describe, test, expect, refused }: Suite): void {
  describe('owners', () => {
    test('who says the first thing owns the conversation, and stays its owner', async ({ store }) => {
      await store.commit('chat', { events: [saidBy('ann')] })
      await store.commit('chat', { events: [saidBy('bob')] })
      await store.putConversation('chat', { owner: 'bob' })
      expect((await store.getConversation('chat'))!.owner).toBe('ann')
      expect((await store.listConversations())[0]!.owner).toBe('ann')
    })

    test('who starts a session owns it', async ({ store }) => {
      const content = { flow: 'checkout', version: '1', input: null, who: 'ann' }
      await store.commit('session', {
        events: [{ type: 'flow_started', content }],
        expectedSeq: 0,
        conversation: { kind: 'flow', agent: 'flow:checkout' },
      })
      expect((await store.getConversation('session'))!.owner).toBe('ann')
    })

    test('a conversation without messages has the owner it is given, else none until one is sent', async ({
      store,
    }) => {
      await store.putConversation('given', { owner: 'ann' })
      await store.putConversation('open', { agent: 'support' })
      expect((await store.getConversation('given'))!.owner).toBe('ann')
      expect((await store.getConversation('open'))!.owner).toBe(null)
      await store.commit('given', { events: [saidBy('bob')] })
      await store.commit('open', { events: [saidBy('bob')], expectedSeq: 0 })
      expect((await store.getConversation('given'))!.owner).toBe('ann')
      expect((await store.getConversation('open'))!.owner).toBe('bob')
    })

    test('a child agent has the owner of its parent', async ({ store }) => {
      await store.commit('chat', { events: [saidBy('ann')] })
      const parent = { id: 'chat', callId: 'call' }
      await store.commit('child', { events: [saidBy('bob')], conversation: { agent: 'research', parent } })
      await store.commit('orphan', {
        events: [saidBy('bob')],
        conversation: { agent: 'research', parent: { id: 'gone', callId: 'call' } },
      })
      expect((await store.getConversation('child'))!.owner).toBe('ann')
      expect((await store.getConversation('orphan'))!.owner).toBe('bob')
    })

    test('a fork has the owner it is given, else that of its source', async ({ store }) => {
      await store.commit('chat', { events: [saidBy('ann')] })
      await store.fork('chat', 'copy')
      await store.fork('chat', 'taken', { at: 0, owner: 'bob' })
      expect((await store.getConversation('copy'))!.owner).toBe('ann')
      expect((await store.getConversation('taken'))!.owner).toBe('bob')
      await store.commit('taken', { events: [saidBy('cid')] })
      expect((await store.getConversation('taken'))!.owner).toBe('bob')
    })

    test('a list of one owner has nothing of others, and no page of it begins at theirs', async ({ store, pass }) => {
      for (const [id, who] of [
        ['a1', 'ann'],
        ['b1', 'bob'],
        ['a2', 'ann'],
        ['b2', 'bob'],
        ['a3', 'ann'],
      ] as const) {
        await store.commit(id, { events: [saidBy(who)] })
        await pass(2)
      }
      await store.putConversation('none', {})
      const ids = async (filter: object) => (await store.listConversations(filter)).map(({ id }) => id)
      expect(await ids({ owner: 'ann' })).toEqual(['a3', 'a2', 'a1'])
      expect(await ids({ owner: 'ann', limit: 1, before: 'a3' })).toEqual(['a2'])
      expect(await ids({ owner: 'Ann' })).toEqual([])
      const theirs = await refused('conversation_not_found', () => ids({ owner: 'ann', before: 'b2' }))
      const missing = await refused('conversation_not_found', () => ids({ owner: 'ann', before: 'b3' }))
      expect(theirs.message.replace('b2', 'b3')).toBe(missing.message)
      await store.fork('b1', 'f1', { owner: 'ann' })
      await store.fork('b1', 'f2', { owner: 'bob' })
      expect(await ids({ owner: 'ann', forkOf: 'b1' })).toEqual(['f1'])
    })

    test('an inbox of one owner has nothing of others, and no page of it begins at theirs', async ({ store, pass }) => {
      for (const [id, who] of [
        ['a', 'ann'],
        ['b', 'bob'],
      ] as const) {
        await store.commit(id, { events: [saidBy(who)] })
        for (const place of [1, 2]) {
          await store.upsertToolCall(id, { id: `${id}${place}`, name: 'refund' })
          await pass(2)
        }
      }
      const ids = async (filter: object) => (await store.pendingInbox(filter)).map(({ id }) => id)
      expect(await ids({ owner: 'ann' })).toEqual(['a2', 'a1'])
      expect(await ids({ owner: 'ann', before: 'a2' })).toEqual(['a1'])
      expect(await ids({ owner: 'cid' })).toEqual([])
      const theirs = await refused('call_not_found', () => ids({ owner: 'ann', before: 'b1' }))
      const missing = await refused('call_not_found', () => ids({ owner: 'ann', before: 'b3' }))
      expect(theirs.message.replace('b1', 'b3')).toBe(missing.message)
    })

    test('an owner is an id', async ({ store }) => {
      await store.commit('chat', { events: [saidBy('x'.repeat(300))] })
      expect((await store.getConversation('chat'))!.owner).toBe(null)
      for (const owner of ['', 'a\u0000b', 7, null] as never[]) {
        await refused('invalid_id', () => store.putConversation('chat', { owner }))
        await refused('invalid_id', () => store.listConversations({ owner }))
        await refused('invalid_id', () => store.pendingInbox({ owner }))
        await refused('invalid_id', () => store.fork('chat', 'copy', { owner }))
      }
    })
  })
}

function saidBy(who: string): NewEvent {
  const { type, content } = userMsg()
  return { type, content: { ...content, who } }
}
