import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { examineStore } from '../../src/upkeep/index.ts'
import type { WatchEvent } from '../../src/view/growing-view.ts'
import { overStores } from './over-stores.ts'
import { pendingOf } from './pending-of.ts'

vi.setConfig({ testTimeout: 120_000 })

/** What the runtime does with them is the same on every store, and shows most with many; a store needs fewer to be slow. */
const counts = { memory: 5_000, sqlite: 2_500, postgres: 2_500 }

/** An agent that asks for permission for every one of its calls, all in one message. */
function payer(count: number) {
  const paid: number[] = []
  const pay = defineTool({
    name: 'pay',
    description: 'Pay',
    input: z.object({ cents: z.number() }),
    approval: 'required',
    run: ({ cents }) => {
      paid.push(cents)
      return `paid ${cents}`
    },
  })
  const calls = Array.from({ length: count }, (_, cents) => ({ tool: 'pay', args: { cents } }))
  return { agent: defineAgent({ name: 'payer', model: scriptedModel(() => ({ calls })), tools: [pay] }), paid }
}

/** The time this process has worked meanwhile, so that others on the machine do not matter. */
async function workedMs(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

overStores('a message with thousands of calls', (story) => {
  const count = counts[story.name]

  test('waits, is read, answered, revived, examined, forked and cancelled in time that grows with their number', async () => {
    const { agent, paid } = payer(count)
    const store = story.openStore()
    const first = story.start({ agents: [agent], store })
    const chat = first.conversation('c1', { agent: 'payer' })

    expect(await workedMs(async () => (await chat.send('pay them all')).outcome())).toBeLessThan(8_000)
    const pending = await pendingOf(chat)
    expect(pending).toHaveLength(count)
    expect((await chat.view()).pending).toHaveLength(count)
    expect((await chat.history()).messages.at(-1)).toMatchObject({ role: 'assistant' })

    const answers = async () => {
      for (const item of pending.slice(0, 10)) expect(await chat.approve(item)).toEqual({ accepted: true })
      for (const item of pending.slice(10, 20)) expect(await chat.deny(item)).toEqual({ accepted: true })
      await chat.outcome()
    }
    expect(await workedMs(answers)).toBeLessThan(8_000)
    expect(paid.toSorted((one, other) => one - other)).toEqual(pending.slice(0, 10).map((_, cents) => cents))
    await first.close()

    const second = story.start({ agents: [agent], store: story.reopen(store) })
    const revived = second.conversation('c1', { agent: 'payer' })
    expect((await revived.view()).pending).toHaveLength(count - 20)
    expect((await (await revived.fork()).view()).pending).toHaveLength(count - 20)
    const { faults } = await examineStore(second.store)
    expect(faults).toBe(0)

    let outcome: unknown = null
    expect(
      await workedMs(async () => {
        outcome = await revived.cancel()
      }),
    ).toBeLessThan(5_000)
    expect(outcome).toMatchObject({ status: 'cancelled' })
    expect((await revived.view()).pending).toEqual([])
  })

  test('reaches a watcher that has taken all before it, though it is more than may wait for a slow one', async () => {
    const { agent } = payer(count)
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'payer' })
    const watching = chat.watch({ maxBuffered: 1_000 })
    await watching.next()
    const seen: WatchEvent[] = []
    const watcher = (async () => {
      for await (const event of watching) {
        if ('content' in event) seen.push(event)
        if (event.type === 'phase_changed' && event.phase === 'waiting') return
      }
    })()
    await chat.send('pay them all')
    await watcher
    expect(seen.map(({ type }) => type).filter((type) => type === 'suspension')).toHaveLength(count)
  })
})
