import type { JsonObject } from '../../base/json.ts'
import type { ConversationRecord, PendingCall } from '../../store/records.ts'
import type { Store } from '../../store/store.ts'
import { fsmState, suspendCalls, titled, userMsg } from './event-builders.ts'
import type { Suite } from './suite.ts'

export function conversations({ describe, test, testTwoStores, expect, refused }: Suite): void {
  describe('conversations', () => {
    test('the attributes of a conversation are read back', async ({ store }) => {
      const attrs = {
        kind: 'flow',
        agent: 'checkout',
        owner: 'ann',
        status: 'suspended',
        settings: { colour: 'red' },
        fsmState: fsmState('awaiting_input', 7, ['call']),
        title: 'A title',
        parent: { id: 'mother', at: 3 },
      } as const
      await store.putConversation('chat', attrs)
      const { createdAt, updatedAt, ...record } = (await store.getConversation('chat'))!
      expect(record).toEqual({ id: 'chat', lastSeq: 1, ...attrs })
      expect(updatedAt).toBe(createdAt)
    })

    test('only given attributes change', async ({ store, pass }) => {
      await store.putConversation('chat', { agent: 'support', title: 'A title', settings: { colour: 'red' } })
      const before = (await store.getConversation('chat'))!
      await pass(5)
      await store.putConversation('chat', { agent: 'sales' })
      const after = (await store.getConversation('chat'))!
      expect(after).toEqual({ ...before, agent: 'sales', updatedAt: after.updatedAt })
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

    test('standing is set by commits that know the log, never by a cached state', async ({ store }) => {
      expect(await store.standing('absent')).toBe(null)
      const idle = async () => (await store.standing('chat'))!.isIdle
      await store.commit('chat', { events: [userMsg()], conversation: { agent: 'support' } })
      expect(await store.standing('chat')).toMatchObject({ agent: 'support', lastSeq: 1, isIdle: false })
      await store.putFsmState('chat', fsmState('idle', 1))
      await store.putConversation('chat', { fsmState: fsmState('idle', 1) })
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
      expect(list[2]).toEqual({ ...(await store.getConversation('b')), waiting: 0 })
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
        await store.putConversation(id, { agent })
        await store.commit(id, { events: [], conversation: { status } })
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

    test('a list can be narrowed to conversations or to sessions, and sessions to those that sleep or failed', async ({
      store,
      pass,
    }) => {
      const rows = [
        ['one', 'flow', 'sleeping'],
        ['two', 'conversation', 'active'],
        ['three', 'flow', 'failed'],
        ['four', 'flow', 'ended'],
        ['five', 'conversation', 'ended'],
      ] as const
      for (const [id, kind, status] of rows) {
        await store.putConversation(id, { kind, agent: 'support' })
        await store.commit(id, { events: [], conversation: { status } })
        await pass(3)
      }
      const ids = async (filter: Parameters<typeof store.listConversations>[0]) =>
        (await store.listConversations(filter)).map((record) => record.id)
      expect(await ids({ kind: 'flow' })).toEqual(['four', 'three', 'one'])
      expect(await ids({ kind: 'conversation' })).toEqual(['five', 'two'])
      expect(await ids({ kind: 'flow', limit: 1 })).toEqual(['four'])
      expect(await ids({ kind: 'flow', before: 'two', agent: 'support' })).toEqual(['one'])
      expect(await ids({ kind: 'flow', status: 'ended' })).toEqual(['four'])
      expect(await ids({ status: 'failed' })).toEqual(['three'])
      expect(await ids({ status: 'sleeping' })).toEqual(['one'])
      const tenant = store.forTenant('another')
      expect(await tenant.listConversations({ kind: 'flow' })).toEqual([])
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

    test('a page that starts before an unknown conversation is refused', async ({ store }) => {
      await store.appendEvent('chat', userMsg())
      await refused('conversation_not_found', () => store.listConversations({ before: 'absent' }))
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

export function inbox({ describe, test, expect, refused }: Suite): void {
  describe('the inbox', () => {
    test('the pending calls of all conversations are listed, newest first, with agent, title and owner', async ({
      store,
      pass,
    }) => {
      expect(await store.pendingInbox()).toEqual([])
      await suspendCalls(store, 'one', ['first'], { agent: 'support', title: 'Refund' })
      await pass(3)
      await suspendCalls(store, 'two', ['second'], { agent: 'sales' })
      await pass(3)
      await store.upsertToolCall('three', { id: 'third' })
      expect(await store.pendingInbox()).toEqual([
        { ...(await store.getToolCall('third')), agent: null, title: null, owner: null },
        { ...(await store.getToolCall('second')), agent: 'sales', title: null, owner: 'ann' },
        { ...(await store.getToolCall('first')), agent: 'support', title: 'Refund', owner: 'ann' },
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
      expect(all).toEqual([...all].sort(newestCallFirst))
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

    test('a page that starts before an unknown call is refused', async ({ store }) => {
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

function newestCallFirst(left: PendingCall, right: PendingCall): number {
  return right.createdAt - left.createdAt || Buffer.compare(Buffer.from(right.id), Buffer.from(left.id))
}
