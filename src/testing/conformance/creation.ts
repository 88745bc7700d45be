import type { NewEvent } from '../../log/events.ts'
import type { Summary } from '../../store/records.ts'
import type { TenantStore } from '../../store/store.ts'
import {
  cancelRequested,
  flowStarted,
  fsmState,
  note,
  observe,
  resolution,
  seeded,
  suspendCalls,
  titled,
  turnEnded,
  userMsg,
} from './event-builders.ts'
import type { Suite } from './suite.ts'

export function creation({ describe, test, testAlone, expect, refused }: Suite): void {
  describe('creation', () => {
    const creators: readonly [string, (store: TenantStore) => Promise<unknown>][] = [
      ['a commit with a user message', (store) => store.commit('chat', { events: [userMsg()] })],
      ['a commit with the start of a flow', (store) => store.commit('chat', { events: [flowStarted()] })],
      [
        'a commit with a user message among others',
        (store) => store.commit('chat', { events: [titled('A'), userMsg()] }),
      ],
      ['appendEvent of any event', (store) => store.appendEvent('chat', titled('A'))],
      ['putConversation', (store) => store.putConversation('chat', {})],
      ['putFsmState', (store) => store.putFsmState('chat', fsmState('idle', 0))],
      ['upsertToolCall', (store) => store.upsertToolCall('chat', { id: 'call' })],
    ]
    for (const [name, create] of creators) {
      test(`${name} creates a conversation`, async ({ store }) => {
        await create(store)
        expect((await store.getConversation('chat'))?.id).toBe('chat')
      })
    }

    // Of its own: a store that other cases have used has tombstones.
    testAlone('a commit with a seed creates a conversation', async ({ store }) => {
      await store.commit('chat', { events: [seeded()] })
      expect((await store.getConversation('chat'))?.id).toBe('chat')
    })

    const others: readonly (readonly NewEvent[])[] = [
      [],
      [titled('A')],
      [note('rated')],
      [resolution('call')],
      [cancelRequested()],
      [turnEnded()],
    ]
    for (const events of others) {
      const name = events[0]?.type ?? 'no event'
      test(`a commit with ${name} does not create a conversation`, async ({ store }) => {
        await refused('conversation_not_found', () =>
          store.commit('chat', { events, conversation: { agent: 'support' }, fsmState: fsmState('idle', 0) }),
        )
        expect(await store.getConversation('chat')).toBe(null)
        expect(await store.streamEvents('chat')).toEqual([])
      })
    }

    test('a change that names an epoch never creates a conversation', async ({ store }) => {
      for (const event of [userMsg(), seeded(), flowStarted()]) {
        expect(await store.commit('chat', { events: [event], epoch: 1, expectedSeq: 0 })).toEqual({
          ok: false,
          conflict: 'epoch',
          lastSeq: 0,
        })
      }
      expect(await store.getConversation('chat')).toBe(null)
    })

    test('a deleted conversation is not revived by a late commit', async ({ store }) => {
      await store.appendEvent('chat', userMsg())
      const { epoch } = (await store.acquireLease('chat', 'one', 60_000))!
      await store.deleteConversation('chat')
      expect(await store.commit('chat', { events: [userMsg(), turnEnded()], epoch, expectedSeq: 1 })).toEqual({
        ok: false,
        conflict: 'epoch',
        lastSeq: 0,
      })
      await refused('conversation_not_found', () => store.commit('chat', { events: [titled('A')] }))
      await refused('conversation_not_found', () => store.commit('chat', { events: [cancelRequested()] }))
      expect(await store.getConversation('chat')).toBe(null)
    })

    test('a conversation that is created again after its deletion starts at seq 1', async ({ store }) => {
      await store.commit('chat', { events: [userMsg(), titled('Old')], conversation: { title: 'Old' } })
      const { epoch } = (await store.acquireLease('chat', 'one', 60_000))!
      await store.deleteConversation('chat')
      expect(await store.commit('chat', { events: [userMsg('again')], expectedSeq: 0 })).toMatchObject({
        ok: true,
        seq: 1,
      })
      expect(await store.getConversation('chat')).toMatchObject({ title: null, lastSeq: 1 })
      expect((await store.streamEvents('chat')).length).toBe(1)
      expect(await store.commit('chat', { events: [], epoch })).toEqual({ ok: false, conflict: 'epoch', lastSeq: 1 })
    })

    test('a new conversation is idle and has nothing but its id and its times', async ({ store }) => {
      await store.putConversation('chat', {})
      const record = (await store.getConversation('chat'))!
      const { createdAt, updatedAt, ...rest } = record
      expect(rest).toEqual({
        id: 'chat',
        kind: 'conversation',
        agent: null,
        owner: null,
        status: 'idle',
        settings: {},
        fsmState: null,
        title: null,
        parent: null,
        lastSeq: 0,
      })
      expect(Number.isSafeInteger(createdAt) && createdAt === updatedAt).toBe(true)
    })

    test('nothing else creates a conversation', async ({ store }) => {
      const summary = { fromSeq: 1, toSeq: 1, content: null, version: 1, base: null }
      await refused('conversation_not_found', () => store.putSummary('chat', summary))
      await refused('conversation_not_found', () => store.putModelCall('chat', { turnRef: 'turn' }))
      await refused('conversation_not_found', () => store.fork('chat', 'copy'))
      await store.scheduleExpiry('chat', 'call', 1_000)
      await store.cancelExpiry('chat', 'call')
      await store.releaseLease('chat', 1)
      await store.putSnapshot('chat', { any: 'thing' })
      expect(await store.acquireLease('chat', 'one', 1_000)).toBe(null)
      expect(await store.resolveToolCall('call', 'resolved', null)).toBe('stale')
      expect(await store.deleteConversation('chat')).toBe(false)
      expect(await store.gcModelCalls('chat', 0)).toBe(0)
      for (const id of ['chat', 'copy']) expect(await store.getConversation(id)).toBe(null)
      expect(await store.listConversations()).toEqual([])
    })
  })
}

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

    test('a conversation that is created again is later than the deleted one, however soon it comes', async ({
      store,
    }) => {
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
      await child(store, 'stranger', 'another parent')
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

/** What a deletion leaves, so that the id is never restored from a snapshot. */
export function tombstones({ describe, testAlone, testReopening, expect, refused }: Suite): void {
  const seed = [seeded(), userMsg()]

  describe('tombstones', () => {
    testAlone('a deleted id takes no seed, and nothing is written; a message begins it empty', async ({ store }) => {
      await store.commit('chat', { events: seed })
      await store.deleteConversation('chat')
      await refused('conversation_deleted', () => store.commit('chat', { events: seed, expectedSeq: 0 }))
      await refused('conversation_deleted', () => store.appendEvent('chat', seeded()))
      expect(await store.getConversation('chat')).toBe(null)
      expect(await store.commit('chat', { events: [userMsg()], expectedSeq: 0 })).toMatchObject({ ok: true, seq: 1 })
      expect((await store.streamEvents('chat')).map(({ type }) => type)).toEqual(['user_msg'])
    })

    testAlone('an id without a conversation can be deleted, and takes no seed then', async ({ store }) => {
      expect(await store.deleteConversation('chat')).toBe(false)
      await refused('conversation_deleted', () => store.commit('chat', { events: seed }))
      expect(await store.commit('other', { events: seed })).toMatchObject({ ok: true })
    })

    testAlone('the child agents of a deleted conversation take no seed either; its forks do', async ({ store }) => {
      await store.commit('chat', { events: [userMsg()] })
      const parent = { id: 'chat', callId: 'call' }
      await store.commit('child', { events: [userMsg()], conversation: { parent } })
      await store.fork('chat', 'fork')
      await store.deleteConversation('chat')
      await refused('conversation_deleted', () => store.commit('child', { events: seed }))
      expect((await store.getConversation('fork'))?.lastSeq).toBe(1)
    })

    testAlone('the conversations of a deleted tenant take no seed; those of others do', async ({ store }) => {
      const [acme, other] = [store.forTenant('acme'), store.forTenant('other')]
      for (const tenant of [acme, other]) await tenant.commit('chat', { events: [userMsg()] })
      await acme.deleteConversation('gone before')
      await store.deleteTenant('acme')
      for (const id of ['chat', 'gone before']) {
        await refused('conversation_deleted', () => acme.commit(id, { events: seed }))
      }
      expect(await acme.commit('new', { events: seed })).toMatchObject({ ok: true })
      await other.deleteConversation('another')
      expect(await other.commit('unknown', { events: seed })).toMatchObject({ ok: true })
    })

    testAlone('a repeated change and a conflict are answered before the tombstone is', async ({ store }) => {
      await store.deleteConversation('chat')
      await store.commit('chat', { events: [userMsg()], key: 'first' })
      expect(await store.commit('chat', { events: seed, key: 'first' })).toMatchObject({ ok: true, seq: 1 })
      expect(await store.commit('chat', { events: seed, expectedSeq: 0 })).toEqual({
        ok: false,
        conflict: 'seq',
        lastSeq: 1,
      })
    })

    testAlone('a fork may take a deleted id, with the seed of its source', async ({ store }) => {
      await store.commit('chat', { events: seed })
      await store.deleteConversation('copy')
      await store.fork('chat', 'copy')
      expect((await store.streamEvents('copy')).map(({ type }) => type)).toEqual(['seeded', 'user_msg'])
    })

    testReopening('a tombstone outlives the process', async ({ store, reopen }) => {
      await store.deleteConversation('chat')
      const again = await reopen()
      await refused('conversation_deleted', () => again.commit('chat', { events: seed }))
    })

    testAlone('tombstones are read and restored, the later one of two', async ({ store }) => {
      const { upkeep } = store
      if (!upkeep) return
      await store.deleteConversation('b')
      for (const [id, at] of [
        ['a', 5],
        ['a', 7],
        ['a', 6],
      ] as const)
        await upkeep.restoreTombstone('default', { id, at })
      const found = await upkeep.snapshot(async (reader) => {
        const all: { id: string; at: number }[] = []
        for await (const tombstone of reader.tombstones('default')) all.push(tombstone)
        const tenants: string[] = []
        for await (const tenant of reader.tenants()) tenants.push(tenant)
        return { all, tenants }
      })
      expect(found.all.map(({ id }) => id)).toEqual(['a', 'b'])
      expect(found.all[0]).toEqual({ id: 'a', at: 7 })
      expect(found.tenants).toEqual(['default'])
      await refused('conversation_deleted', () => store.commit('a', { events: seed }))
    })
  })
}
