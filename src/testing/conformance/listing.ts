import type { ConversationRecord } from '../../store/conversation-record.ts'
import { userMsg } from './event-builders.ts'
import type { Suite } from './suite.ts'

export function listing({ describe, test, expect, refused }: Suite): void {
  describe('listing', () => {
    test('an empty store lists nothing', async ({ store }) => {
      expect(await store.listConversations()).toEqual([])
      expect(await store.listConversations({ status: 'active', agent: 'support' })).toEqual([])
    })

    test('the newest conversation comes first, whatever changed since', async ({ store, pass }) => {
      for (const id of ['b', 'a', 'c']) {
        await store.appendEvent(id, userMsg())
        await pass(3)
      }
      await store.appendEvent('b', userMsg())
      const list = await store.listConversations()
      expect(list.map((record) => record.id)).toEqual(['c', 'a', 'b'])
      expect(list[2]).toEqual(await store.getConversation('b'))
    })

    test('a list can be narrowed to a status and an agent', async ({ store, pass }) => {
      const rows = [
        ['one', 'active', 'support'],
        ['two', 'idle', 'support'],
        ['three', 'idle', 'sales'],
        ['four', 'suspended', 'support'],
        ['five', 'ended', 'sales'],
        ['six', 'idle', 'support'],
      ] as const
      for (const [id, status, agent] of rows) {
        await store.putConversation(id, { status, agent })
        await pass(3)
      }
      const ids = async (filter: Parameters<typeof store.listConversations>[0]) =>
        (await store.listConversations(filter)).map((record) => record.id)
      expect(await ids({ status: 'idle' })).toEqual(['six', 'three', 'two'])
      expect(await ids({ agent: 'sales' })).toEqual(['five', 'three'])
      expect(await ids({ status: 'idle', agent: 'support' })).toEqual(['six', 'two'])
      expect(await ids({ status: 'active', agent: 'sales' })).toEqual([])
      expect(await ids({ status: 'idle', agent: 'support', limit: 1 })).toEqual(['six'])
      expect(await ids({ status: 'idle', before: 'six' })).toEqual(['three', 'two'])
      expect(await ids({ status: 'idle', before: 'four' })).toEqual(['three', 'two'])
    })

    test('a list can be narrowed to the direct forks of a conversation', async ({ store, pass }) => {
      for (const id of ['chat', 'chat 2', 'c"h\\at', 'cha', '😀'])
        await store.commit(id, { events: [userMsg(), userMsg()] })
      const forks = [
        ['chat', 'fork-1', 2],
        ['chat', 'fork-2', 0],
        ['fork-1', 'fork-of-fork', 1],
        ['chat 2', 'other', 1],
        ['c"h\\at', 'odd', 1],
        ['😀', 'smile', 1],
        ['chat', 'fork-3', 1],
      ] as const
      for (const [id, newId, at] of forks) {
        await store.fork(id, newId, { at })
        await pass(3)
      }
      await store.putConversation('child', { parent: { id: 'chat', callId: 'call-1' } })
      await store.putConversation('told', { parent: { at: 9, id: 'chat' } })
      const ids = async (forkOf: string, page: { before?: string; limit?: number } = {}) =>
        (await store.listConversations({ forkOf, ...page })).map((record) => record.id)
      expect(await ids('chat')).toEqual(['told', 'fork-3', 'fork-2', 'fork-1'])
      expect(await ids('chat', { limit: 2, before: 'told' })).toEqual(['fork-3', 'fork-2'])
      expect(await ids('fork-1')).toEqual(['fork-of-fork'])
      expect(await ids('c"h\\at')).toEqual(['odd'])
      expect(await ids('😀')).toEqual(['smile'])
      expect(await ids('cha')).toEqual([])
      await store.deleteConversation('chat')
      expect(await ids('chat')).toEqual(['told', 'fork-3', 'fork-2', 'fork-1'])
    })

    test('pages show every conversation once, in one order, also those of one moment', async ({ store }) => {
      const names = ['a', 'A', 'B', 'b', 'aa', 'é', '～', '😀', 'z', 'Z', '0', '10', '9', ' x', "x'y", 'x%']
      await Promise.all(names.map((id) => store.appendEvent(id, userMsg())))
      const all = await store.listConversations()
      expect(all.map((record) => record.id).sort()).toEqual([...names].sort())
      expect(all).toEqual([...all].sort(newestFirst))
      const paged: ConversationRecord[] = []
      for (let page = await store.listConversations({ limit: 3 }); page.length > 0; ) {
        expect(page.length <= 3).toBe(true)
        paged.push(...page)
        page = await store.listConversations({ limit: 3, before: page.at(-1)!.id })
      }
      expect(paged).toEqual(all)
    })

    test('a page that begins before a conversation nobody knows is refused', async ({ store }) => {
      await store.appendEvent('chat', userMsg())
      await refused('conversation_not_found', () => store.listConversations({ before: 'nobody' }))
    })

    test('a list without a limit ends at a hundred', async ({ store }) => {
      const ids = Array.from({ length: 105 }, (_, index) => `chat-${index}`)
      await Promise.all(ids.map((id) => store.putConversation(id, {})))
      expect((await store.listConversations()).length).toBe(100)
      expect((await store.listConversations({ limit: 1_000 })).length).toBe(105)
    })
  })
}

function newestFirst(left: ConversationRecord, right: ConversationRecord): number {
  return right.createdAt - left.createdAt || Buffer.compare(Buffer.from(right.id), Buffer.from(left.id))
}
