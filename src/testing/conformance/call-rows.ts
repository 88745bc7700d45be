import { finalStatuses } from '../../store/prepare-change.ts'
import { resolution, suspension, userMsg } from './event-builders.ts'
import type { Suite } from './suite.ts'
import { suspendCalls } from './suspend-calls.ts'

export function callRows({ describe, test, expect, refused }: Suite): void {
  describe('call rows', () => {
    test('a new call is pending, in its first round, and empty in all that was not said', async ({ store }) => {
      await store.upsertToolCall('chat', { id: 'call' })
      const { createdAt, ...rest } = (await store.getToolCall('call'))!
      expect(rest).toEqual({
        id: 'call',
        conversationId: 'chat',
        name: '',
        executor: 'server',
        status: 'pending',
        args: null,
        result: null,
        round: 1,
        kind: 'approval',
        prompt: null,
        expiresAt: null,
        resolvedAt: null,
      })
      expect(createdAt).toBe((await store.getConversation('chat'))!.createdAt)
    })

    test('what an upsert says is read back', async ({ store }) => {
      const call = {
        id: 'call',
        name: 'refund',
        executor: 'client',
        args: { cents: 100 },
        round: 3,
        kind: 'client_exec',
        prompt: ['Pay', 'back?'],
      } as const
      await store.upsertToolCall('chat', { ...call, expiresInMs: 90_000 })
      const row = (await store.getToolCall('call'))!
      expect(row).toMatchObject(call)
      expect(Math.abs(row.expiresAt! - row.createdAt - 90_000)).toBeLessThan(1_000)
    })

    test('an upsert replaces everything but the time of creation', async ({ store, pass }) => {
      await store.upsertToolCall('chat', {
        id: 'call',
        name: 'refund',
        executor: 'human',
        args: { cents: 100 },
        kind: 'elicitation',
        prompt: 'How much?',
        expiresInMs: 90_000,
      })
      const before = (await store.getToolCall('call'))!
      await pass(5)
      await store.upsertToolCall('chat', { id: 'call', round: 2 })
      expect(await store.getToolCall('call')).toEqual({
        ...before,
        name: '',
        executor: 'server',
        args: null,
        kind: 'approval',
        prompt: null,
        expiresAt: null,
        round: 2,
      })
    })

    for (const status of finalStatuses) {
      test(`a call that is written as ${status} has ended and waits for nobody`, async ({ store }) => {
        await store.upsertToolCall('chat', { id: 'call', status, result: 'done', expiresInMs: 60_000 })
        const row = (await store.getToolCall('call'))!
        expect(row).toMatchObject({ status, result: 'done', expiresAt: null })
        expect(row.resolvedAt).toBe(row.createdAt)
        expect(await store.pendingToolCalls('chat')).toEqual([])
        expect(await store.resolveToolCall('call', 'resolved', null)).toBe('stale')
      })
    }

    test('an ended call that is written as pending waits again', async ({ store }) => {
      await store.upsertToolCall('chat', { id: 'call' })
      await store.resolveToolCall('call', 'resolved', 'first')
      await store.upsertToolCall('chat', { id: 'call', round: 2 })
      expect(await store.getToolCall('call')).toMatchObject({
        status: 'pending',
        result: null,
        round: 2,
        resolvedAt: null,
      })
      expect(await store.resolveToolCall('call', 'resolved', 'second')).toBe('ok')
    })

    test('a call that nobody knows is null', async ({ store }) => {
      expect(await store.getToolCall('nothing')).toBe(null)
      expect(await store.pendingToolCalls('nobody')).toEqual([])
    })

    test('the pending calls of a conversation come oldest first', async ({ store, pass }) => {
      for (const id of ['third', 'first', 'second']) {
        await store.upsertToolCall('chat', { id })
        await pass(3)
      }
      await store.upsertToolCall('chat', { id: 'third', name: 'changed' })
      await store.upsertToolCall('other', { id: 'elsewhere' })
      await store.resolveToolCall('first', 'denied', null)
      const pending = await store.pendingToolCalls('chat')
      expect(pending.map((call) => call.id)).toEqual(['third', 'second'])
      expect(pending[0]).toEqual(await store.getToolCall('third'))
    })

    test('pending calls of one moment come in the order of the bytes of their ids', async ({ store }) => {
      const ids = ['b', 'a', 'B', 'é', '～', '😀', 'a0']
      await suspendCalls(store, 'chat', ids)
      const pending = await store.pendingToolCalls('chat')
      expect(pending.map((call) => call.id)).toEqual(['B', 'a', 'a0', 'b', 'é', '～', '😀'])
    })

    test('the call of another conversation cannot be taken over', async ({ store }) => {
      await store.upsertToolCall('chat', { id: 'call', name: 'mine' })
      const error = await refused('invalid_argument', () =>
        store.upsertToolCall('other', { id: 'call', name: 'theirs' }),
      )
      expect(error.message.includes("'call'")).toBe(true)
      expect(await store.getToolCall('call')).toMatchObject({ conversationId: 'chat', name: 'mine' })
      expect(await store.getConversation('other')).toBe(null)
    })

    test('a commit writes its rows with its events, with deadlines by the clock of the store', async ({ store }) => {
      await store.commit('chat', {
        events: [userMsg(), suspension('one'), suspension('two')],
        calls: [{ id: 'one', expiresInMs: 90_000 }, { id: 'two' }],
      })
      const [one, two] = await store.pendingToolCalls('chat')
      expect(Math.abs(one!.expiresAt! - one!.createdAt - 90_000)).toBeLessThan(1_000)
      expect(two).toMatchObject({ id: 'two', expiresAt: null })
      expect((await store.getConversation('chat'))!.lastSeq).toBe(3)
    })

    test('a commit that ends one round and opens the next leaves the call pending', async ({ store }) => {
      await suspendCalls(store, 'chat', ['call'], { expiresInMs: 60_000 })
      const result = await store.commit('chat', {
        events: [resolution('call'), suspension('call', { round: 2, kind: 'client_exec' })],
        resolve: [{ callId: 'call', round: 1, status: 'resolved', result: true }],
        calls: [{ id: 'call', round: 2, kind: 'client_exec' }],
      })
      expect(result).toMatchObject({ ok: true, seq: 6 })
      expect(await store.getToolCall('call')).toMatchObject({
        status: 'pending',
        round: 2,
        kind: 'client_exec',
        result: null,
        resolvedAt: null,
        expiresAt: null,
      })
    })

    test('a change that names a call twice is refused', async ({ store }) => {
      await suspendCalls(store, 'chat', ['call'])
      const answer = { callId: 'call', round: 1, status: 'resolved', result: true } as const
      await refused('invalid_argument', () =>
        store.commit('chat', { events: [resolution('call')], resolve: [answer, answer] }),
      )
      await refused('invalid_argument', () =>
        store.commit('chat', { events: [], calls: [{ id: 'two' }, { id: 'two', name: 'again' }] }),
      )
      expect((await store.pendingToolCalls('chat')).map((call) => call.id)).toEqual(['call'])
      expect((await store.getConversation('chat'))!.lastSeq).toBe(4)
    })
  })
}
