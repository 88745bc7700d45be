import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { readStats } from '../../src/upkeep/stats.ts'
import { overStores } from './over-stores.ts'
import { pendingOf } from './pending-of.ts'

const look = defineTool({ name: 'look', description: 'Look', input: z.object({}), run: () => 'seen' })
const pay = defineTool({
  name: 'pay',
  description: 'Pay',
  input: z.object({}),
  approval: 'required',
  run: () => 'paid',
})
const model = scriptedModel(({ prompt }) => {
  const last = prompt.at(-1)!
  const text = JSON.stringify(last)
  if (last.role !== 'user') return 'Done.'
  return { calls: [{ tool: text.includes('pay') ? 'pay' : 'look', args: {} }] }
})

overStores('figures of a store', (story) => {
  test('count turns, tools, model calls and what waits, over all tenants', async () => {
    const agents = [defineAgent({ name: 'helper', model, tools: [look, pay], audit: 'full' })] as const
    const runtime = story.start({ agents })
    await (await runtime.conversation('c1', { agent: 'helper' }).send('look')).outcome()
    await pendingOf(await runtime.conversation('c2', { agent: 'helper' }).send('pay'))
    const answered = runtime.conversation('c3', { agent: 'helper' })
    const [asked] = await pendingOf(await answered.send('pay'))
    await answered.approve(asked!.callId)
    await answered.outcome()
    for (const window of ['hour', 'day'] as const) {
      const stats = await readStats(runtime.store, window)
      const last = stats.buckets.at(-1)!
      expect(last.turns).toEqual({ completed: 2 })
      expect(last.tool).toMatchObject({ count: 2 })
      expect(last.model).toMatchObject({ count: 5 })
      expect(last.answerToFirstToken).toMatchObject({ count: 1 })
      expect(last.oldestWaitMs).toBeGreaterThanOrEqual(0)
      expect(stats.buckets.slice(0, -2).every(({ oldestWaitMs }) => oldestWaitMs === null)).toBe(true)
      expect(stats.models).toMatchObject([{ calls: 5 }])
      expect(stats.inbox).toMatchObject({ waiting: 1, oldestAt: expect.any(Number) })
      expect(stats.expiry).toEqual({ overdue: 0, lagMs: 0 })
      expect(stats.isPartial).toBe(false)
      if (story.name !== 'memory') expect(stats.storeBytes).toBeGreaterThan(4_096)
    }
    const running = await runtime.store.acquireLease('c2', 'node-1', 60_000)
    expect(running).not.toBeNull()
    expect((await readStats(runtime.store)).nodes).toMatchObject([{ holder: 'node-1', leases: 1 }])
    await expect(readStats(runtime.store, 'week' as never)).rejects.toMatchObject({ code: 'invalid_argument' })
  })
})
