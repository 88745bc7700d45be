import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineFlow } from '../../src/define/define-flow.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import type { Store } from '../../src/store/store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { overStores } from './over-stores.ts'
import { onlyPendingOf } from './pending-of.ts'
import { until } from './until.ts'

vi.setConfig({ testTimeout: 20_000 })

const minute = 60_000
/** Far less than any of the jumps. */
const promptlyMs = 10_000
const quick = { pollMs: 20, leaseMs: 1_000 }

const pay = defineTool({
  ...{ name: 'pay', description: 'Pay', input: z.object({}), approval: 'required' as const },
  run: () => 'paid',
})
const model = () =>
  scriptedModel(({ prompt }) => (prompt.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ tool: 'pay', args: {} }] }))
const agent = () => defineAgent({ name: 'till', model: model(), tools: [pay] })

/** The time of day of a node, which can be put forward and back. */
function offClock(): { clock: Clock; put(ms: number): void } {
  let offMs = 0
  const clock = { ...systemClock, now: () => Date.now() + offMs }
  return { clock, put: (ms) => void (offMs = ms) }
}

overStores('a node whose time of day is off', (story) => {
  for (const [name, first, second] of [
    ['20 minutes ahead', 20 * minute, 20 * minute],
    ['20 minutes behind', -20 * minute, -20 * minute],
    ['put back by 10 minutes while a call waits', 0, -10 * minute],
    ['put forward by 20 minutes while a call waits', 0, 20 * minute],
  ] as const) {
    test(`delays nothing, and takes nothing from the node beside it: ${name}`, async () => {
      const data = story.openStore()
      const { clock, put } = offClock()
      put(first)
      const off = story.start({ agents: [agent()], store: data, ...quick, clock })
      const right = story.start({ agents: [agent()], store: story.reopen(data), ...quick })
      const began = performance.now()
      const turns = await Promise.all([
        off.conversation('c1', { agent: 'till' }).send('pay'),
        right.conversation('c2', { agent: 'till' }).send('pay'),
      ])
      const items = await Promise.all(turns.map((turn) => onlyPendingOf(turn)))
      put(second)
      await right.conversation('c1').approve(items[0]! as never)
      await off.conversation('c2').approve(items[1]! as never)
      const outcomes = await Promise.all(turns.map((turn) => turn.outcome()))
      expect(outcomes).toMatchObject([{ status: 'completed' }, { status: 'completed' }])
      expect(await (await off.conversation('c3', { agent: 'till' }).send('pay')).outcome()).toMatchObject({
        status: 'waiting',
      })
      expect(performance.now() - began).toBeLessThan(promptlyMs)
    })
  }

  test('does not put off a session that waits for an agent', async () => {
    const data = story.openStore()
    const till = agent()
    const flow = defineFlow({
      ...{ name: 'buy', version: 1 },
      run: async (flow) => (await flow.agent('till', { id: 'desk', message: 'pay' })).text,
    })
    const first = story.start({ agents: [till], flows: [flow], store: data, ...quick })
    const begun = first.flow(flow, 's1').start(null).catch(String)
    await until(async () => (await first.conversation('desk').view()).pending.length === 1)
    await first.close({ drainMs: 0 })
    await begun
    const { clock, put } = offClock()
    put(20 * minute)
    const looked = vi.fn()
    const counted = story.reopen(data)
    const off = story.start({
      ...{ agents: [till], flows: [flow], ...quick, clock },
      store: { ...counted, forTenant: (tenant) => ({ ...counted.forTenant(tenant), commit: watch(counted, tenant) }) },
    })
    function watch(store: Store, tenant: string): Store['commit'] {
      return async (id, change) => {
        const result = await store.forTenant(tenant).commit(id, change)
        if (id === 's1' && change.lease === 'release') looked()
        return result
      }
    }
    await until(async () => looked.mock.calls.length > 0)
    await off.close({ drainMs: 0 })
    const clerk = story.start({ agents: [till], store: story.reopen(data), ...quick })
    const desk = clerk.conversation('desk')
    await desk.approve((await desk.view()).pending[0]!)
    expect(await desk.outcome()).toMatchObject({ status: 'completed' })
    await clerk.close()
    const last = story.start({ agents: [till], flows: [flow], store: story.reopen(data), ...quick })
    await until(async () => (await last.flow(flow, 's1').status()) === 'done')
  })
})
