import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import type { Schema } from '../../src/define/schema.ts'
import { createScope } from '../../src/define/scope.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { overStores } from './over-stores.ts'
import { onlyPendingOf } from './pending-of.ts'
import { toolResults } from './tool-results.ts'

function interviewer(output: Schema) {
  const ask = defineTool({
    name: 'ask',
    description: 'Ask the user',
    executor: 'human',
    input: z.object({ question: z.string() }),
    output,
    prompt: ({ question }) => ({ title: question }),
  })
  const model = scriptedModel(({ prompt }) =>
    prompt.some((message) => message.role === 'tool')
      ? 'Thank you.'
      : { calls: [{ tool: 'ask', args: { question: 'How many?' } }] },
  )
  return { agent: defineAgent({ name: 'interviewer', model, tools: [ask] }), model }
}

overStores('a question to a person', (story) => {
  test('is asked with its prompt and the schema of the answer, and the answer is the result', async () => {
    const { agent, model } = interviewer(
      z.object({ count: z.number().int().min(1), unit: z.string().default('boxes') }),
    )
    const runtime = story.start({ agents: [agent] })
    const turn = await runtime.conversation('c1', { agent: 'interviewer' }).send('order')
    const call = await onlyPendingOf(turn)
    expect(call).toMatchObject({
      tool: 'ask',
      kind: 'elicitation',
      round: 1,
      args: { question: 'How many?' },
      prompt: { title: 'How many?' },
      schema: { type: 'object', properties: { count: { type: 'integer', minimum: 1 } } },
      expiresAt: null,
    })
    const ann = runtime.as(createScope({ user: 'ann' })).conversation('c1')
    expect(await ann.answer(call, { count: 3 })).toEqual({ accepted: true })
    expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'Thank you.' })
    // What the schema makes of the answer is recorded.
    expect(toolResults(model, 2)).toEqual([['ask', { type: 'json', value: { count: 3, unit: 'boxes' } }]])
    expect((await ann.events()).filter((event) => event.type === 'resolution')).toMatchObject([
      { content: { kind: 'elicitation', status: 'resolved', value: { count: 3, unit: 'boxes' }, who: 'ann' } },
    ])
  })

  test('an answer that does not fit is refused with the reason, and the question still waits', async () => {
    const { agent } = interviewer(z.object({ count: z.number() }))
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'interviewer' })
    const turn = await chat.send('order')
    const call = await onlyPendingOf(turn)
    const tooMuch = { count: 3, note: 'x'.repeat(2 * 1024 * 1024) }
    for (const value of [{ count: 'three' }, {}, null, 3, undefined, { count: 1n }, tooMuch]) {
      await expect(chat.answer(call, value)).rejects.toMatchObject({
        name: 'InvalidAnswerError',
        code: 'invalid_answer',
      })
    }
    await expect(chat.answer(call, { count: 'three' })).rejects.toMatchObject({
      issues: expect.stringContaining('count'),
    })
    expect(await onlyPendingOf(turn)).toEqual(call)
    expect((await chat.events()).some((event) => event.type === 'resolution')).toBe(false)
    expect(await chat.answer(call, { count: 3 })).toEqual({ accepted: true })
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
  })

  test.each([
    ['false', z.boolean(), false],
    ['0', z.number(), 0],
    ["''", z.string(), ''],
    ['null', z.null(), null],
    ['[]', z.array(z.string()), []],
  ])('%s is an answer like any other', async (_, schema, value) => {
    const { agent, model } = interviewer(schema)
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'interviewer' })
    const turn = await chat.send('order')
    const call = await onlyPendingOf(turn)
    expect(await chat.answer(call, value)).toEqual({ accepted: true })
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(toolResults(model, 2)).toMatchObject([['ask', { value }]])
    expect(await chat.answer(call, value)).toMatchObject({ accepted: false, resolution: { status: 'resolved', value } })
  })

  test('an answer that happens to look like a failed call is still an answer', async () => {
    const { agent, model } = interviewer(z.object({ ok: z.boolean(), error: z.string() }))
    const runtime = story.start({ agents: [agent] })
    const chat = runtime.conversation('c1', { agent: 'interviewer' })
    const turn = await chat.send('order')
    const call = await onlyPendingOf(turn)
    await chat.answer(call, { ok: false, error: 'none' })
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(toolResults(model, 2)).toEqual([['ask', { type: 'json', value: { ok: false, error: 'none' } }]])
    expect(await runtime.store.getToolCall(call.callId)).toMatchObject({ status: 'resolved' })
  })

  test('is not approved or denied, only answered', async () => {
    const { agent } = interviewer(z.boolean())
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'interviewer' })
    const turn = await chat.send('order')
    const call = await onlyPendingOf(turn)
    await expect(chat.approve(call)).rejects.toMatchObject({ code: 'invalid_answer' })
    await expect(chat.approve(call, { args: { question: 'x' } })).rejects.toMatchObject({ code: 'invalid_answer' })
    await expect(chat.deny(call)).rejects.toMatchObject({ code: 'invalid_answer' })
    expect(await onlyPendingOf(turn)).toEqual(call)
  })

  test('may have a JSON Schema, and an answer to a call that is not there is refused', async () => {
    const { agent } = interviewer({ type: 'string', enum: ['red', 'blue'] })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'interviewer' })
    const turn = await chat.send('order')
    const call = await onlyPendingOf(turn)
    await expect(chat.answer(call, 'green')).rejects.toMatchObject({ code: 'invalid_answer' })
    await expect(chat.answer('nobody', 'red')).rejects.toMatchObject({ code: 'call_not_found' })
    await expect(chat.answer({ callId: call.callId, round: 2 }, 'red')).rejects.toMatchObject({
      code: 'invalid_answer',
    })
    expect(await chat.answer(call.callId, 'red')).toEqual({ accepted: true })
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
  })
})
