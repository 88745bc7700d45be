import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { gate } from './gate.ts'
import { mortalStore } from './mortal-store.ts'
import { overStores } from './over-stores.ts'
import { onlyPendingOf } from './pending-of.ts'
import { toolResults } from './tool-results.ts'

vi.setConfig({ testTimeout: 30_000 })

const quick = { leaseMs: 200, pollMs: 20 }

type Life = 'hang' | 'return' | 'throw'

/** The payments agent of one process; `callIds` is what the payment provider has seen, of all processes. */
function payments(life: Life, callIds: (string | null)[], approval: 'auto' | 'required' = 'auto') {
  const started = gate()
  const pay = defineTool({
    name: 'pay',
    description: 'Pay an invoice',
    input: z.object({ invoice: z.string() }),
    ifInterrupted: 'rerun',
    approval,
    run: async (_, { callId }) => {
      callIds.push(callId)
      started.open()
      if (life === 'throw') throw new Error('the bank is closed')
      return life === 'hang' ? await new Promise(() => {}) : 'paid'
    },
  })
  const model = scriptedModel(({ prompt }) =>
    prompt.some((message) => message.role === 'tool') ? 'Done.' : { calls: [{ tool: 'pay', args: { invoice: 'i1' } }] },
  )
  return { agent: defineAgent({ name: 'payments', model, tools: [pay] }), model, started }
}

overStores('a tool that was interrupted and may be run again', (story) => {
  test('when the process dies, the next one runs it with the same call id', async () => {
    const callIds: (string | null)[] = []
    const [first, second] = [payments('hang', callIds), payments('return', callIds)]
    const data = story.openStore()
    const dying = mortalStore(data)
    const turn = await story
      .start({ agents: [first.agent], store: dying.store, ...quick })
      .conversation('c1', { agent: 'payments' })
      .send('pay')
    await first.started.opened
    dying.kill()

    const chat = story.start({ agents: [second.agent], store: story.reopen(data), ...quick }).conversation('c1')
    expect(await chat.turn(turn.turnId).outcome()).toMatchObject({ status: 'completed' })
    expect(callIds).toHaveLength(2)
    expect(callIds[1]).toBe(callIds[0])
    expect(toolResults(second.model, 1)).toEqual([['pay', { type: 'text', value: 'paid' }]])
    const starts = (await chat.events()).filter((event) => event.type === 'tool_started')
    expect(starts.map((event) => event.content.attempt)).toEqual([1, 2])
  })

  test('after three attempts it is reported instead', async () => {
    const callIds: (string | null)[] = []
    const data = story.openStore()
    for (let life = 1; life <= 3; life++) {
      const { agent, started } = payments('hang', callIds)
      const runtime = story.start({ agents: [agent], store: story.reopen(data) })
      if (life === 1) await runtime.conversation('c1', { agent: 'payments' }).send('pay', { key: 'k' })
      await started.opened
      await runtime.close({ drainMs: 0 })
    }
    const { agent, model } = payments('return', callIds)
    const chat = story.start({ agents: [agent], store: story.reopen(data) }).conversation('c1')
    expect(await chat.outcome()).toMatchObject({ status: 'completed' })
    expect(callIds).toHaveLength(3)
    expect(new Set(callIds).size).toBe(1)
    expect(toolResults(model, 1)).toEqual([
      ['pay', { type: 'error-text', value: expect.stringContaining('(outcome: unknown)') }],
    ])
  })

  test('a person who approved it once is not asked again', async () => {
    const callIds: (string | null)[] = []
    const [first, second] = [payments('hang', callIds, 'required'), payments('return', callIds, 'required')]
    const data = story.openStore()
    const runtime = story.start({ agents: [first.agent], store: data })
    const chat = runtime.conversation('c1', { agent: 'payments' })
    const turn = await chat.send('pay')
    expect(await chat.approve(await onlyPendingOf(turn))).toEqual({ accepted: true })
    await first.started.opened
    await runtime.close({ drainMs: 0 })

    const next = story.start({ agents: [second.agent], store: story.reopen(data) }).conversation('c1')
    expect(await next.turn(turn.turnId).outcome()).toMatchObject({ status: 'completed' })
    expect(callIds).toHaveLength(2)
    expect((await next.events()).filter((event) => event.type === 'suspension')).toHaveLength(1)
  })

  test('a failure of the second run does not hide that the first may have taken effect', async () => {
    const callIds: (string | null)[] = []
    const [first, second] = [payments('hang', callIds), payments('throw', callIds)]
    const data = story.openStore()
    const runtime = story.start({ agents: [first.agent], store: data })
    const turn = await runtime.conversation('c1', { agent: 'payments' }).send('pay')
    await first.started.opened
    await runtime.close({ drainMs: 0 })

    const next = story.start({ agents: [second.agent], store: story.reopen(data) }).conversation('c1')
    expect(await next.turn(turn.turnId).outcome()).toMatchObject({ status: 'completed' })
    const [[, output] = []] = toolResults(second.model, 1)
    expect(output).toMatchObject({ type: 'error-text', value: expect.stringContaining('the bank is closed') })
    expect(output).toMatchObject({ value: expect.stringContaining('(outcome: unknown)') })
  })
})
