import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createScope } from '../../src/define/scope.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { overStores } from './over-stores.ts'
import { onlyPendingOf } from './pending-of.ts'
import { toolCalls, toolResults } from './tool-results.ts'

function refunds(isFailing = false) {
  const runs: unknown[] = []
  const refund = defineTool({
    name: 'refund',
    description: 'Pay an order back',
    input: z.object({ orderId: z.string(), cents: z.coerce.number().int() }),
    approval: 'required',
    run: (args) => {
      runs.push(args)
      if (isFailing) throw new Error('card closed')
      return { paid: args.cents }
    },
  })
  const model = scriptedModel(({ prompt }) =>
    prompt.some((message) => message.role === 'tool')
      ? 'Done.'
      : { calls: [{ tool: 'refund', args: { orderId: 'o1', cents: 900 } }] },
  )
  return { agent: defineAgent({ name: 'support', model, tools: [refund] }), model, runs }
}

overStores('arguments that a person has changed', (story) => {
  test('are what the tool runs with; the model sees its own call, and is told of the change in the result', async () => {
    const { agent, model, runs } = refunds()
    const runtime = story.start({ agents: [agent] })
    const turn = await runtime.conversation('c1', { agent: 'support' }).send('refund')
    const boss = runtime.as(createScope({ user: 'boss' })).conversation('c1')
    const call = await onlyPendingOf(turn)
    expect(await boss.approve(call, { args: { orderId: 'o1', cents: '500' } })).toEqual({ accepted: true })
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(runs).toEqual([{ orderId: 'o1', cents: 500 }])
    expect(toolCalls(model, 2)).toEqual([['refund', { orderId: 'o1', cents: 900 }]])
    const [[, output] = []] = toolResults(model, 2)
    expect(output).toMatchObject({ type: 'json', value: { result: { paid: 500 } } })
    expect(output).toMatchObject({ value: { note: expect.stringContaining('{"orderId":"o1","cents":"500"}') } })
    expect((await boss.events()).filter((event) => event.type === 'resolution')).toMatchObject([
      {
        content: {
          status: 'resolved',
          who: 'boss',
          edited: { before: { orderId: 'o1', cents: 900 }, after: { orderId: 'o1', cents: '500' } },
        },
      },
    ])
    const shown = (await boss.view()).messages.flatMap((message) => message.parts)
    expect(shown.find((part) => part.type === 'call')).toMatchObject({
      args: { orderId: 'o1', cents: 900 },
      edited: { after: { orderId: 'o1', cents: '500' } },
    })
  })

  test('are checked like the model’s: what does not fit is refused, and the call still waits', async () => {
    const { agent, runs } = refunds()
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'support' })
    const turn = await chat.send('refund')
    const call = await onlyPendingOf(turn)
    for (const args of [{ orderId: 'o1', cents: 'many' }, {}, null, 'x', { orderId: 'o1', cents: 1n }]) {
      await expect(chat.approve(call.callId, { args })).rejects.toMatchObject({ code: 'invalid_answer' })
    }
    expect(await onlyPendingOf(turn)).toEqual(call)
    expect(runs).toEqual([])
    expect(await chat.approve(call)).toEqual({ accepted: true })
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(runs).toEqual([{ orderId: 'o1', cents: 900 }])
  })

  test('are told to the model also when the tool fails with them', async () => {
    const { agent, model } = refunds(true)
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'support' })
    const turn = await chat.send('refund')
    await chat.approve(await onlyPendingOf(turn), { args: { orderId: 'o1', cents: 500 } })
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    const [[, output] = []] = toolResults(model, 2)
    expect(output).toMatchObject({ type: 'error-text', value: expect.stringContaining('"cents":500') })
    expect(output).toMatchObject({ value: expect.stringContaining('card closed') })
  })

  test('are shown to a caller who answered at the same time and lost', async () => {
    const { agent } = refunds()
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'support' })
    const turn = await chat.send('refund')
    const call = await onlyPendingOf(turn)
    await chat.approve(call, { args: { orderId: 'o1', cents: 500 } })
    expect(await chat.deny(call)).toMatchObject({
      accepted: false,
      resolution: { status: 'resolved', value: true, who: 'system', edited: { after: { orderId: 'o1', cents: 500 } } },
    })
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
  })
})
