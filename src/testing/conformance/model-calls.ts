import type { NewModelCall } from '../../store/model-call.ts'
import { userMsg } from './event-builders.ts'
import type { Suite } from './suite.ts'

export function modelCalls({ describe, test, testWithoutAudit, expect, refused }: Suite): void {
  describe('model calls', () => {
    test('what was recorded of a model call is read back', async ({ store }) => {
      await store.appendEvent('chat', userMsg())
      const call = {
        turnRef: 'turn-1/0',
        renderedContext: [{ role: 'user', content: 'hello' }],
        model: { provider: 'test', modelId: 'test-1' },
        usage: { inputTokens: 3 },
        latencyMs: 120,
        status: 'failed',
        summaryVersion: 2,
        evictions: [{ callId: 'call', why: 'age' }],
        at: 1_700_000_000_000,
      }
      await store.putModelCall('chat', call)
      expect(await store.modelCalls('chat')).toEqual([call])
    })

    test('what was not said is null, with status ok and the time of the store', async ({ store }) => {
      await store.appendEvent('chat', userMsg())
      await store.putModelCall('chat', { turnRef: 'turn-1/0' })
      const [call] = await store.modelCalls('chat')
      const { at, ...rest } = call!
      expect(rest).toEqual({
        turnRef: 'turn-1/0',
        renderedContext: null,
        model: null,
        usage: null,
        latencyMs: null,
        status: 'ok',
        summaryVersion: null,
        evictions: null,
      })
      const { createdAt } = (await store.getConversation('chat'))!
      expect(at).toBeGreaterThanOrEqual(createdAt)
      expect(at - createdAt).toBeLessThan(60_000)
    })

    test('calls come by the bytes of their turnRef, then in the order they were put', async ({ store }) => {
      await store.appendEvent('chat', userMsg())
      const refs = ['b', '😀', 'a', '～', 'B', 'a', 'é', 'a', '10', '9']
      for (const [index, turnRef] of refs.entries()) {
        await store.putModelCall('chat', { turnRef, latencyMs: index, at: 1_000 - index })
      }
      const calls = await store.modelCalls('chat')
      expect(calls.map((call) => [call.turnRef, call.latencyMs])).toEqual([
        ['10', 8],
        ['9', 9],
        ['B', 4],
        ['a', 2],
        ['a', 5],
        ['a', 7],
        ['b', 0],
        ['é', 6],
        ['～', 3],
        ['😀', 1],
      ])
    })

    test('only calls older than the time to live are removed, and they are counted', async ({ store, pass }) => {
      await store.appendEvent('chat', userMsg())
      await store.appendEvent('other', userMsg())
      const { createdAt } = (await store.getConversation('chat'))!
      const hour = 3_600_000
      for (const age of [3, 2, 0]) {
        await store.putModelCall('chat', { turnRef: `${age} hours`, at: createdAt - age * hour })
      }
      await store.putModelCall('other', { turnRef: 'elsewhere', at: 0 })
      expect(await store.gcModelCalls('chat', 4 * hour)).toBe(0)
      expect(await store.gcModelCalls('chat', 1.5 * hour)).toBe(2)
      expect((await store.modelCalls('chat')).map((call) => call.turnRef)).toEqual(['0 hours'])
      await pass(5)
      expect(await store.gcModelCalls('chat', 0)).toBe(1)
      expect(await store.modelCalls('chat')).toEqual([])
      expect((await store.modelCalls('other')).length).toBe(1)
      expect(await store.gcModelCalls('nobody', 0)).toBe(0)
    })

    test('a model call of nowhere, or with numbers that make no sense, is refused', async ({ store }) => {
      await refused('conversation_not_found', () => store.putModelCall('nobody', { turnRef: 'turn' }))
      await store.appendEvent('chat', userMsg())
      const senseless: NewModelCall[] = [
        { turnRef: 'turn', at: -1 },
        { turnRef: 'turn', at: 1.5 },
        { turnRef: 'turn', latencyMs: -1 },
        { turnRef: 'turn', latencyMs: Number.NaN },
        { turnRef: 'turn', summaryVersion: 0.5 },
      ]
      for (const call of senseless) await refused('invalid_argument', () => store.putModelCall('chat', call))
      expect(await store.modelCalls('chat')).toEqual([])
      expect(await store.modelCalls('nobody')).toEqual([])
    })

    testWithoutAudit('a store without audit keeps no model calls', async ({ store }) => {
      await store.appendEvent('chat', userMsg())
      await store.putModelCall('chat', { turnRef: 'turn' })
      await store.putModelCall('nobody', { turnRef: 'turn' })
      expect(await store.modelCalls('chat')).toEqual([])
      expect(await store.gcModelCalls('chat', 0)).toBe(0)
      await refused('invalid_value', () => store.putModelCall('chat', { turnRef: 'turn', usage: Number.NaN }))
    })
  })
}
