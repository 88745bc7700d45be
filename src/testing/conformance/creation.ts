import type { NewEvent } from '../../log/events.ts'
import type { TenantStore } from '../../store/store.ts'
import {
  cancelRequested,
  flowStarted,
  fsmState,
  resolution,
  seeded,
  titled,
  turnEnded,
  userMsg,
} from './event-builders.ts'
import type { Suite } from './suite.ts'

export function creation({ describe, test, expect, refused }: Suite): void {
  describe('creation', () => {
    const creators: readonly [string, (store: TenantStore) => Promise<unknown>][] = [
      ['a commit with a user message', (store) => store.commit('chat', { events: [userMsg()] })],
      ['a commit with a seed', (store) => store.commit('chat', { events: [seeded()] })],
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

    const others: readonly (readonly NewEvent[])[] = [
      [],
      [titled('A')],
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

    test('a conversation that is begun anew after its deletion starts at seq 1', async ({ store }) => {
      await store.commit('chat', { events: [userMsg(), titled('A')], conversation: { title: 'Old' } })
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
      await refused('call_not_found', () => store.scheduleExpiry('chat', 'call', 1_000))
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
