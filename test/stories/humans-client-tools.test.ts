import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { overStores } from './over-stores.ts'
import { onlyPendingOf } from './pending-of.ts'
import { toolResults } from './tool-results.ts'

function guide() {
  const locate = defineTool({
    name: 'locate',
    description: 'Where the user is',
    executor: 'client',
    input: z.object({ precise: z.boolean() }),
    output: z.object({ lat: z.number(), at: z.string().default('now') }),
  })
  const model = scriptedModel(({ prompt }) =>
    prompt.some((message) => message.role === 'tool')
      ? 'There you are.'
      : { calls: [{ tool: 'locate', args: { precise: true } }] },
  )
  return { agent: defineAgent({ name: 'guide', model, tools: [locate] }), model }
}

overStores('a tool that the client runs', (story) => {
  test('waits for the client with the arguments, and takes its result', async () => {
    const { agent, model } = guide()
    const runtime = story.start({ agents: [agent] })
    const chat = runtime.conversation('c1', { agent: 'guide' })
    const turn = await chat.send('where am I?')
    const call = await onlyPendingOf(turn)
    expect(call).toMatchObject({ tool: 'locate', kind: 'client_exec', round: 1, args: { precise: true } })
    expect(await chat.answer(call, { ok: true, result: { lat: 59.9 } })).toEqual({ accepted: true })
    expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'There you are.' })
    expect(toolResults(model, 2)).toEqual([['locate', { type: 'json', value: { lat: 59.9, at: 'now' } }]])
    expect(await runtime.store.getToolCall(call.callId)).toMatchObject({ status: 'resolved' })
  })

  test('may fail there, and the model reads why', async () => {
    const { agent, model } = guide()
    const runtime = story.start({ agents: [agent] })
    const chat = runtime.conversation('c1', { agent: 'guide' })
    const turn = await chat.send('where am I?')
    const call = await onlyPendingOf(turn)
    expect(await chat.answer(call, { ok: false, error: 'no permission' })).toEqual({ accepted: true })
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(toolResults(model, 2)).toEqual([['locate', { type: 'error-text', value: 'no permission' }]])
    expect(await runtime.store.getToolCall(call.callId)).toMatchObject({ status: 'errored' })
  })

  test('what is not a result is refused, and the call still waits', async () => {
    const { agent } = guide()
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'guide' })
    const turn = await chat.send('where am I?')
    const call = await onlyPendingOf(turn)
    const wrong = [{ lat: 59.9 }, { ok: true }, { ok: true, result: { lat: 'north' } }, { ok: false }, null, undefined]
    for (const value of wrong) {
      await expect(chat.answer(call, value)).rejects.toMatchObject({ code: 'invalid_answer' })
    }
    await expect(chat.approve(call)).rejects.toMatchObject({ code: 'invalid_answer' })
    expect(await onlyPendingOf(turn)).toEqual(call)
  })
})
