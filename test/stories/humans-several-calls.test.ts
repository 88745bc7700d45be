import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { untilState } from '../../src/testing/fake-clock.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { gate } from './gate.ts'
import { overStores } from './over-stores.ts'
import { onlyPendingOf, pendingOf } from './pending-of.ts'
import { toolResults } from './tool-results.ts'
import { until } from './until.ts'

vi.setConfig({ testTimeout: 20_000 })

/** An agent that asks for several things in one message: two payments of the same tool, a question, and a look-up that needs no approval. */
function office() {
  const paid: number[] = []
  const lookedUp = gate()
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
  const ask = defineTool({
    name: 'ask',
    description: 'Ask',
    executor: 'human',
    input: z.object({}),
    output: z.string(),
  })
  const lookUp = defineTool({
    name: 'look_up',
    description: 'Look up',
    input: z.object({}),
    run: async () => {
      await lookedUp.opened
      return 'found'
    },
  })
  const calls = [
    { tool: 'pay', args: { cents: 1 }, id: 'same' },
    { tool: 'look_up', args: {} },
    { tool: 'pay', args: { cents: 2 }, id: 'same' },
    { tool: 'ask', args: {} },
  ]
  const model = scriptedModel(({ prompt }) => (prompt.some((message) => message.role === 'tool') ? 'Done.' : { calls }))
  return { agent: defineAgent({ name: 'office', model, tools: [pay, ask, lookUp] }), model, paid, lookedUp }
}

overStores('several calls that wait at once', (story) => {
  test('are answered one by one, in any order, and the turn goes on after the last', async () => {
    const { agent, model, paid, lookedUp } = office()
    lookedUp.open()
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'office' })
    const turn = await chat.send('go')
    const [first, second, question] = await pendingOf(turn)
    expect([first, second, question]).toMatchObject([
      { tool: 'pay', args: { cents: 1 } },
      { tool: 'pay', args: { cents: 2 } },
      { tool: 'ask' },
    ])
    expect(first?.callId).not.toBe(second?.callId)

    expect(await chat.approve(second!)).toEqual({ accepted: true })
    await until(() => paid.length > 0)
    expect(await pendingOf(turn)).toMatchObject([{ callId: first?.callId }, { callId: question?.callId }])
    expect(await chat.answer(question!, 'yes')).toEqual({ accepted: true })
    expect(await onlyPendingOf(turn)).toMatchObject({ callId: first?.callId })
    expect([paid, model.calls.length]).toEqual([[2], 1])

    expect(await chat.deny(first!)).toEqual({ accepted: true })
    expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'Done.' })
    expect(paid).toEqual([2])
    expect(toolResults(model, 2)).toEqual([
      ['pay', { type: 'error-text', value: 'tool call denied' }],
      ['look_up', { type: 'text', value: 'found' }],
      ['pay', { type: 'text', value: 'paid 2' }],
      ['ask', { type: 'text', value: 'yes' }],
    ])
  })

  test('can be answered while another tool still runs, and the turn does not count as waiting until it has ended', async () => {
    const { agent, model, paid, lookedUp } = office()
    const runtime = story.start({ agents: [agent] })
    const chat = runtime.conversation('c1', { agent: 'office' })
    const turn = await chat.send('go')
    const inbox = await until(async () => {
      const items = await runtime.inbox()
      return items.length === 3 ? items : null
    })
    expect((await chat.view()).phase).toBe('running')
    const second = inbox.find((item) => JSON.stringify(item.args) === '{"cents":2}')
    expect(await chat.approve({ callId: second!.callId, round: second!.round })).toEqual({ accepted: true })
    await until(() => paid.length === 1)
    expect((await chat.view()).phase).toBe('running')
    lookedUp.open()
    expect(await pendingOf(turn)).toMatchObject([{ args: { cents: 1 } }, { tool: 'ask' }])
    expect((await untilState(chat, 'waiting')).pending).toHaveLength(2)
    expect(model.calls).toHaveLength(1)
  })

  test('answered all at once, each counts once', async () => {
    const { agent, model, paid, lookedUp } = office()
    lookedUp.open()
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'office' })
    const turn = await chat.send('go')
    const [first, second, question] = await pendingOf(turn)
    const answers = await Promise.all([
      chat.approve(first!),
      chat.approve(first!),
      chat.approve(second!),
      chat.answer(question!, 'yes'),
      chat.approve(second!),
    ])
    expect(answers.filter(({ accepted }) => accepted)).toHaveLength(3)
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(paid.toSorted()).toEqual([1, 2])
    expect(model.calls).toHaveLength(2)
  })
})
