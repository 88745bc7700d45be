import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createScope } from '../../src/define/scope.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { overStores } from './over-stores.ts'
import { onlyPendingOf } from './pending-of.ts'
import { toolResults } from './tool-results.ts'

function mail() {
  const runs: unknown[] = []
  const send = defineTool({
    name: 'send',
    description: 'Send a mail',
    input: z.object({}),
    approval: 'required',
    run: (args) => void runs.push(args),
  })
  const model = scriptedModel(({ prompt }) =>
    prompt.some((message) => message.role === 'tool') ? 'As you wish.' : { calls: [{ tool: 'send', args: {} }] },
  )
  return { agent: defineAgent({ name: 'mail', model, tools: [send] }), model, runs }
}

overStores('a denied call', (story) => {
  test.each([
    ['with its reason', { reason: 'too early' }, 'tool call denied: too early'],
    ['without one', {}, 'tool call denied'],
    ['with an empty one', { reason: '' }, 'tool call denied'],
  ])('is not run, and the model is told %s', async (_, options, told) => {
    const { agent, model, runs } = mail()
    const runtime = story.start({ agents: [agent] })
    const turn = await runtime.conversation('c1', { agent: 'mail' }).send('mail')
    const boss = runtime.as(createScope({ user: 'boss' })).conversation('c1')
    const call = await onlyPendingOf(turn)
    expect(await boss.deny(call, options)).toEqual({ accepted: true })
    expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'As you wish.' })
    expect(runs).toEqual([])
    expect(toolResults(model, 2)).toEqual([['send', { type: 'error-text', value: told }]])
    const events = await boss.events()
    expect(events.filter((event) => event.type === 'resolution')).toMatchObject([
      { content: { status: 'denied', who: 'boss' } },
    ])
    expect(events.some((event) => event.type === 'tool_started' || event.type === 'tool_result')).toBe(false)
    expect(await runtime.store.getToolCall(call.callId)).toMatchObject({ status: 'denied' })
  })

  test('stays denied: a later approval learns who denied it and why', async () => {
    const { agent, runs } = mail()
    const runtime = story.start({ agents: [agent] })
    const turn = await runtime.conversation('c1', { agent: 'mail' }).send('mail')
    const call = await onlyPendingOf(turn)
    await runtime
      .as(createScope({ user: 'boss' }))
      .conversation('c1')
      .deny(call, { reason: 'no' })
    await turn.outcome()
    expect(
      await runtime
        .as(createScope({ user: 'ann' }))
        .conversation('c1')
        .approve(call),
    ).toEqual({
      accepted: false,
      resolution: { status: 'denied', value: { reason: 'no' }, who: 'boss', at: expect.any(Number) },
    })
    expect(runs).toEqual([])
  })

  test('an approval is not answered', async () => {
    const { agent } = mail()
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'mail' })
    const turn = await chat.send('mail')
    const call = await onlyPendingOf(turn)
    await expect(chat.answer(call, true)).rejects.toMatchObject({ code: 'invalid_answer' })
    expect(await onlyPendingOf(turn)).toEqual(call)
  })
})
