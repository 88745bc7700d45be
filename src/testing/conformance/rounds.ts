import type { TenantStore } from '../../store/store.ts'
import { resolution, suspension } from './event-builders.ts'
import type { Suite } from './suite.ts'
import { suspendCalls } from './suspend-calls.ts'

export function rounds({ describe, test, expect }: Suite): void {
  describe('rounds', () => {
    test('a click on the first round never lands in the second', async ({ store }) => {
      await suspendCalls(store, 'chat', ['call'])
      await answerRound(store, 1, 'ann')
      await openRound(store, 2)
      const second = await answerRound(store, 1, 'bob')
      const winner = (await store.streamEvents('chat'))[4]
      expect(winner).toMatchObject({ seq: 5, content: { round: 1, who: 'ann' } })
      expect(second).toEqual({ ok: false, conflict: 'stale', lastSeq: 6, winner })
      expect(await store.getToolCall('call')).toMatchObject({ status: 'pending', round: 2 })
      expect((await store.getConversation('chat'))!.lastSeq).toBe(6)
    })

    test('an answer to a round that has not begun is stale and has no winner', async ({ store }) => {
      await suspendCalls(store, 'chat', ['call'])
      expect(await answerRound(store, 2, 'ann')).toEqual({ ok: false, conflict: 'stale', lastSeq: 4 })
      await answerRound(store, 1, 'ann')
      expect(await answerRound(store, 2, 'ann')).toEqual({ ok: false, conflict: 'stale', lastSeq: 5 })
    })

    test('each round has its own winner, whatever round the row has come to', async ({ store }) => {
      await suspendCalls(store, 'chat', ['call'])
      await answerRound(store, 1, 'ann')
      await openRound(store, 2)
      await answerRound(store, 2, 'bob')
      await openRound(store, 3)
      await answerRound(store, 3, 'cat')
      const told = [
        await answerRound(store, 1, 'eve'),
        await answerRound(store, 2, 'eve'),
        await answerRound(store, 3, 'eve'),
      ]
      expect(told).toMatchObject([
        { conflict: 'stale', winner: { content: { round: 1, who: 'ann' } } },
        { conflict: 'stale', winner: { content: { round: 2, who: 'bob' } } },
        { conflict: 'stale', winner: { content: { round: 3, who: 'cat' } } },
      ])
    })

    test('an answer without a round goes to the round that is open', async ({ store }) => {
      await suspendCalls(store, 'chat', ['call'])
      await answerRound(store, 1, 'ann')
      expect(await store.resolveToolCall('call', 'resolved', null)).toBe('stale')
      await openRound(store, 2)
      expect(await store.resolveToolCall('call', 'resolved', 'late')).toBe('ok')
      const event = (await store.streamEvents('chat')).at(-1)!
      expect(event.content).toMatchObject({ callId: 'call', round: 2, kind: 'client_exec', value: 'late' })
    })

    test('an expiry names the round it ended', async ({ store, eventually }) => {
      await suspendCalls(store, 'chat', ['call'])
      await answerRound(store, 1, 'ann')
      await openRound(store, 2, 20)
      await eventually('the second round expires', async () => (await store.getToolCall('call'))!.status === 'expired')
      const event = (await store.streamEvents('chat')).at(-1)!
      expect(event.content).toMatchObject({ callId: 'call', round: 2, status: 'expired', kind: 'client_exec' })
      expect(await answerRound(store, 2, 'ann')).toEqual({ ok: false, conflict: 'stale', lastSeq: 7, winner: event })
    })
  })
}

function answerRound(store: TenantStore, round: number, who: string) {
  return store.commit('chat', {
    events: [resolution('call', { round, who })],
    resolve: [{ callId: 'call', round, status: 'resolved', result: who }],
  })
}

function openRound(store: TenantStore, round: number, expiresInMs: number | null = null) {
  return store.commit('chat', {
    events: [suspension('call', { round, kind: 'client_exec', expiresInMs })],
    calls: [{ id: 'call', round, kind: 'client_exec', expiresInMs }],
  })
}
