import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createScope } from '../../src/define/scope.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { overStores } from './over-stores.ts'
import { onlyPendingOf } from './pending-of.ts'
import { toolCalls, toolResults } from './tool-results.ts'

function browser() {
  const fill = defineTool({
    name: 'fill',
    description: 'Fill in a form',
    executor: 'client',
    approval: 'required',
    input: z.object({ field: z.string() }),
    output: z.string(),
  })
  const model = scriptedModel(({ prompt }) =>
    prompt.some((message) => message.role === 'tool')
      ? 'Filled.'
      : { calls: [{ tool: 'fill', args: { field: 'name' } }] },
  )
  return { agent: defineAgent({ name: 'browser', model, tools: [fill] }), model }
}

overStores('a client tool that needs approval', (story) => {
  test('suspends twice: first a person approves, then the client runs it', async () => {
    const { agent, model } = browser()
    const runtime = story.start({ agents: [agent] })
    const chat = runtime.conversation('c1', { agent: 'browser' })
    const turn = await chat.send('fill it in')
    const first = await onlyPendingOf(turn)
    expect(first).toMatchObject({ kind: 'approval', round: 1 })
    expect(await chat.approve(first)).toEqual({ accepted: true })
    const second = await onlyPendingOf(turn)
    expect(second).toMatchObject({ kind: 'client_exec', round: 2, callId: first.callId })
    expect(await runtime.inbox()).toMatchObject([{ callId: first.callId, round: 2, kind: 'client_exec' }])
    expect(await chat.answer(second, { ok: true, result: 'ok' })).toEqual({ accepted: true })
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(toolResults(model, 2)).toEqual([['fill', { type: 'text', value: 'ok' }]])
  })

  test('a second click on the first round never lands in the second', async () => {
    const { agent } = browser()
    const runtime = story.start({ agents: [agent] })
    const ann = runtime.as(createScope({ user: 'ann' })).conversation('c1', { agent: 'browser' })
    const turn = await ann.send('fill it in')
    const first = await onlyPendingOf(turn)
    await ann.approve(first)
    const second = await onlyPendingOf(turn)
    const bob = runtime.as(createScope({ user: 'bob' })).conversation('c1')
    const lost = {
      accepted: false,
      resolution: { status: 'resolved', value: true, who: 'ann', at: expect.any(Number) },
    }
    const clicks = [
      bob.approve(first),
      bob.deny(first),
      bob.answer(first, { ok: false, error: 'x' }),
      bob.deny(first.callId),
      bob.answer({ callId: first.callId, round: 1 }, true),
      runtime.resolve('c1', first.callId, false),
    ]
    for (const click of clicks) expect(await click).toEqual(lost)
    expect(await onlyPendingOf(turn)).toEqual(second)
    // The verbs of the first round do not fit the second either.
    await expect(bob.approve(second)).rejects.toMatchObject({ code: 'invalid_answer' })
    expect(await onlyPendingOf(turn)).toEqual(second)
  })

  test('the second round cannot be answered before the first', async () => {
    const { agent } = browser()
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'browser' })
    const turn = await chat.send('fill it in')
    const first = await onlyPendingOf(turn)
    await expect(chat.answer({ ...first, round: 2 }, { ok: true, result: 'ok' })).rejects.toMatchObject({
      code: 'invalid_answer',
    })
    expect(await onlyPendingOf(turn)).toEqual(first)
  })

  test('that was denied never reaches the client', async () => {
    const { agent, model } = browser()
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'browser' })
    const turn = await chat.send('fill it in')
    await chat.deny(await onlyPendingOf(turn), { reason: 'private' })
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(toolResults(model, 2)).toEqual([['fill', { type: 'error-text', value: 'tool call denied: private' }]])
  })

  test('whose arguments were changed gives the client the changed ones, and the model the note', async () => {
    const { agent, model } = browser()
    const runtime = story.start({ agents: [agent] })
    const chat = runtime.conversation('c1', { agent: 'browser' })
    const turn = await chat.send('fill it in')
    await chat.approve(await onlyPendingOf(turn), { args: { field: 'nickname' } })
    const second = await onlyPendingOf(turn)
    expect(second.args).toEqual({ field: 'nickname' })
    expect(await runtime.inbox()).toMatchObject([{ round: 2, args: { field: 'nickname' } }])
    await chat.answer(second, { ok: true, result: 'ok' })
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(toolCalls(model, 2)).toEqual([['fill', { field: 'name' }]])
    expect(toolResults(model, 2)).toMatchObject([
      ['fill', { type: 'json', value: { note: expect.stringContaining('nickname'), result: 'ok' } }],
    ])
  })
})
