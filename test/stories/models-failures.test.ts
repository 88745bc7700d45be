import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { checkHistory } from '../log/check-history.ts'
import { overStores } from './over-stores.ts'
import { linesOf, shapeOf } from './texts.ts'

/** No test waits for a real delay. */
const retry = { baseMs: 0, maxMs: 0 }

overStores('a model that fails', (story) => {
  test('before it has said anything is retried invisibly', async () => {
    for (const status of [429, 500, 503, undefined]) {
      const error = status === undefined ? {} : { status }
      const model = scriptedModel([{ error }, { error }, 'third time lucky'])
      const agent = defineAgent({ name: 'a', model, retry })
      const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'a' })
      expect(await (await chat.send('hi')).outcome()).toMatchObject({ status: 'completed', text: 'third time lucky' })
      expect(shapeOf(await chat.events())).toEqual(['user_msg', 'assistant_msg complete', 'turn_ended completed'])
    }
  })

  test('again and again fails the turn with what the provider said, and the conversation goes on', async () => {
    const error = { status: 503, message: 'the model is asleep' }
    const model = scriptedModel([{ error }, { error }, { error }, 'awake'])
    const agent = defineAgent({ name: 'a', model, retry })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'a' })
    const outcome = await (await chat.send('hi')).outcome()
    expect(outcome).toMatchObject({
      status: 'failed',
      text: '',
      reason: expect.stringMatching(/^model_overloaded: .*the model is asleep/),
    })
    expect(shapeOf(await chat.events())).toEqual(['user_msg', 'turn_ended failed'])
    expect(await (await chat.send('again')).outcome()).toMatchObject({ status: 'completed', text: 'awake' })
    expect(linesOf(model.calls[3]!.prompt)).toEqual(['user: hi', 'user: again'])
  })

  test('for a reason that will not go away is not tried again', async () => {
    const model = scriptedModel({ error: { status: 400, message: 'no such parameter' } })
    const chat = story.start({ agents: [defineAgent({ name: 'a', model })] }).conversation('c1', { agent: 'a' })
    expect(await (await chat.send('hi')).outcome()).toMatchObject({
      status: 'failed',
      reason: expect.stringMatching(/^model_rejected: .*no such parameter/),
    })
    expect(model.calls).toHaveLength(1)
  })

  test('is not tried again where the agent does not want it', async () => {
    const model = scriptedModel({ error: { status: 503 } })
    const agent = defineAgent({ name: 'a', model, retry: false })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'a' })
    expect(await (await chat.send('hi')).outcome()).toMatchObject({ status: 'failed' })
    expect(model.calls).toHaveLength(1)
  })

  test('in the middle, for the last time, keeps what was said and fails the turn', async () => {
    const runs: string[] = []
    const act = defineTool({ name: 'act', description: 'Act', input: z.object({}), run: () => void runs.push('act') })
    const broken = { text: ['Once ', 'upon'], calls: [{ tool: 'act', args: {} }], cutAfter: 3 }
    const model = scriptedModel([broken, 'There was a hat.'])
    const agent = defineAgent({ name: 'a', model, tools: [act], retry: false })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'a' })
    const outcome = await (await chat.send('tell me')).outcome()
    expect(outcome).toMatchObject({
      status: 'failed',
      text: 'Once upon',
      reason: expect.stringMatching(/^model_interrupted/),
    })
    expect(model.calls).toHaveLength(1)
    expect(runs).toEqual([])
    expect(shapeOf(await chat.events())).toEqual(['user_msg', 'assistant_msg failed', 'turn_ended failed'])
    const message = (await chat.events())[1]
    expect(message?.content).toMatchObject({
      parts: [
        { type: 'text', text: 'Once upon' },
        { type: 'plain_call', name: 'act' },
      ],
    })
    await (await chat.send('go on')).outcome()
    expect(linesOf(model.calls[1]!.prompt)).toEqual([
      'user: tell me',
      'assistant: Once upon [This message was cut off by an error.]',
      'user: go on',
    ])
    checkHistory(await chat.events())
  })

  test('has its place taken by the fallback models, in their order', async () => {
    const model = scriptedModel({ error: { status: 400 } }, { modelId: 'first' })
    const second = scriptedModel({ error: { status: 503 } }, { modelId: 'second', provider: 'other' })
    const third = scriptedModel('from the third', { modelId: 'third', provider: 'another' })
    const agent = defineAgent({
      name: 'a',
      model,
      fallbackModels: [second, third],
      retry: { ...retry, maxAttempts: 2 },
    })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'a' })
    expect(await (await chat.send('hi')).outcome()).toMatchObject({ status: 'completed', text: 'from the third' })
    expect([model.calls.length, second.calls.length, third.calls.length]).toEqual([1, 2, 1])
    expect((await chat.events())[1]?.content).toMatchObject({ model: { provider: 'another', modelId: 'third' } })
  })

  test('and its fallback models: the turn fails, and says what each of them said', async () => {
    const model = scriptedModel({ error: { status: 400, message: 'not I' } }, { modelId: 'first' })
    const second = scriptedModel({ error: { status: 401, message: 'nor I' } }, { modelId: 'second' })
    const agent = defineAgent({ name: 'a', model, fallbackModels: [second], retry })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'a' })
    const outcome = await (await chat.send('hi')).outcome()
    expect(outcome).toMatchObject({ status: 'failed', reason: expect.stringMatching(/not I.*nor I/s) })
  })

  test('a fallback model is not given the reasoning of another provider', async () => {
    const model = scriptedModel(({ n }) =>
      n === 1 ? { reasoning: 'secret', text: 'one' } : { error: { status: 400 } },
    )
    const second = scriptedModel('two', { provider: 'other' })
    const agent = defineAgent({ name: 'a', model, fallbackModels: [second], retry })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'a' })
    await (await chat.send('hi')).outcome()
    expect(await (await chat.send('again')).outcome()).toMatchObject({ status: 'completed', text: 'two' })
    expect(JSON.stringify(model.calls[1]!.prompt)).toContain('secret')
    expect(JSON.stringify(second.calls[0]!.prompt)).not.toContain('secret')
  })

  test('after some steps of a turn fails it, and what its tools did stays', async () => {
    const look = defineTool({ name: 'look', description: 'Look', input: z.object({}), run: () => 'a hat' })
    const model = scriptedModel([{ calls: [{ tool: 'look', args: {} }] }, { error: { status: 400 } }])
    const agent = defineAgent({ name: 'a', model, tools: [look] })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'a' })
    expect(await (await chat.send('hi')).outcome()).toMatchObject({ status: 'failed' })
    const events = await chat.events()
    checkHistory(events)
    expect(events.find((event) => event.type === 'tool_result')?.content).toMatchObject({ ok: true, result: 'a hat' })
  })
})
