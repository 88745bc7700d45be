import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { postHook } from '../../src/define/create-hook.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import type { Conversation } from '../../src/runtime/conversation.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { projectView } from '../../src/view/growing-view.ts'
import type { View } from '../../src/view/view.ts'
import { checkHistory } from '../log/check-history.ts'
import { overStores } from './over-stores.ts'
import { pacedModel } from './paced-model.ts'
import { shapeOf } from './texts.ts'
import { until } from './until.ts'

/** No test waits for a real delay. */
const retry = { baseMs: 0, maxMs: 0 }

/** What a page shows, after each event. */
async function film(chat: Conversation): Promise<string[]> {
  const shown: string[] = []
  let view: View | null = null
  for await (const event of chat.watch()) {
    view = event.type === 'snapshot' ? event.view : projectView(view!, event)
    const drafts = view.drafts.map(({ parts }) => parts.map(({ text }) => text).join('')).join(' | ')
    if (shown.at(-1) !== drafts) shown.push(drafts)
    if (event.type === 'turn_ended') return shown
  }
  return shown
}

overStores('a stream that breaks off', (story) => {
  test('is tried again: its text is withdrawn and not in the log, its tools do not run, and its usage counts', async () => {
    const runs: string[] = []
    const act = defineTool({ name: 'act', description: 'Act', input: z.object({}), run: () => void runs.push('act') })
    const model = scriptedModel([
      { text: ['Once ', 'upon'], calls: [{ tool: 'act', args: {} }], cutAfter: 3 },
      { text: ['There ', 'was'] },
    ])
    const agent = defineAgent({ name: 'a', model: tellsUsage(model), tools: [act], retry })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'a' })
    const watched = film(chat)
    const outcome = await (await chat.send('tell me')).outcome()
    expect(outcome).toMatchObject({
      status: 'completed',
      text: 'There was',
      usage: { inputTokens: 17, outputTokens: 5 },
    })
    expect(runs).toEqual([])
    expect(await watched).toEqual(['', 'Once ', 'Once upon', 'Once upon{}', '', 'There ', 'There was', ''])
    const events = await chat.events()
    expect(shapeOf(events)).toEqual(['user_msg', 'attempt_discarded', 'assistant_msg complete', 'turn_ended completed'])
    expect(JSON.stringify(events)).not.toContain('Once')
    const [, discarded, message] = events
    expect(discarded!.content).toMatchObject({ code: 'model_interrupted', usage: { inputTokens: 7 } })
    const idOf = (event: typeof message) => (event!.content as { messageId: string }).messageId
    expect(idOf(discarded)).not.toBe(idOf(message))
    checkHistory(events)
  })

  test('counts against maxAttempts, and then the fallback models follow', async () => {
    const model = scriptedModel({ text: ['Once ', 'upon'], cutAfter: 1 }, { modelId: 'first' })
    const second = scriptedModel('from the second', { modelId: 'second' })
    const agent = defineAgent({ name: 'a', model, fallbackModels: [second], retry: { ...retry, maxAttempts: 2 } })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'a' })
    expect(await (await chat.send('hi')).outcome()).toMatchObject({ status: 'completed', text: 'from the second' })
    expect([model.calls.length, second.calls.length]).toEqual([2, 1])
    expect(shapeOf(await chat.events()).filter((shape) => shape === 'attempt_discarded')).toHaveLength(2)
  })

  test('for the last time fails the turn, and keeps what its last attempt said', async () => {
    const model = scriptedModel(({ n }) => ({ text: [`Try ${n}`, ' and more'], cutAfter: 1 }))
    const chat = story.start({ agents: [defineAgent({ name: 'a', model, retry })] }).conversation('c1', { agent: 'a' })
    const outcome = await (await chat.send('hi')).outcome()
    expect(outcome).toMatchObject({
      status: 'failed',
      text: 'Try 3',
      reason: expect.stringMatching(/^model_interrupted/),
    })
    expect(shapeOf(await chat.events())).toEqual([
      ...['user_msg', 'attempt_discarded', 'attempt_discarded'],
      ...['assistant_msg failed', 'turn_ended failed'],
    ])
  })

  test('for the last time on an agent with post-hooks is withheld', async () => {
    const model = scriptedModel({ text: ['Once ', 'upon'], cutAfter: 1 })
    const hooks = [postHook('guard', () => undefined)]
    const agent = defineAgent({ name: 'a', model, hooks, retry: { ...retry, maxAttempts: 2 } })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'a' })
    expect(await (await chat.send('hi')).outcome()).toMatchObject({ status: 'failed', text: '' })
    expect(shapeOf(await chat.events())).toEqual([
      ...['user_msg', 'attempt_discarded', 'withheld'],
      ...['assistant_msg failed', 'turn_ended failed'],
    ])
  })

  test('counts its usage against maxTokens of the turn', async () => {
    const look = defineTool({ name: 'look', description: 'Look', input: z.object({}), run: () => 'a hat' })
    const model = scriptedModel(({ n }) =>
      n === 1 ? { text: ['Once', ' upon'], cutAfter: 1 } : { calls: [{ tool: 'look', args: {} }] },
    )
    const agent = defineAgent({ name: 'a', model: tellsUsage(model), tools: [look], retry, maxTokens: 20 })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'a' })
    // 7 of the attempt that broke off, and 15 of the message.
    expect(await (await chat.send('hi')).outcome()).toMatchObject({ status: 'halted', reason: 'max_tokens' })
    expect(model.calls).toHaveLength(2)
  })

  test('is withdrawn at once, and a cancel during the wait for the next attempt ends the turn with its usage', async () => {
    const model = pacedModel()
    const agent = defineAgent({ name: 'a', model, retry: { baseMs: 3_600_000, maxMs: 3_600_000 } })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'a' })
    const watched = film(chat)
    const turn = await chat.send('hi')
    const call = await model.called(1)
    call.say('Once')
    await until(async () => (await chat.view()).drafts.length === 1)
    call.fail(new Error('cut'))
    await until(async () => (await chat.view()).drafts.length === 0)
    await chat.cancel()
    expect(await turn.outcome()).toMatchObject({ status: 'cancelled', text: '' })
    expect(await watched).toEqual(['', 'Once', ''])
    expect(model.calls).toHaveLength(1)
    expect(shapeOf(await chat.events())).toEqual([
      ...['user_msg', 'cancel_requested'],
      ...['attempt_discarded', 'turn_ended cancelled'],
    ])
  })

  test('that stalls is given up at the limit between chunks, and tried again', async () => {
    const model = scriptedModel([{ text: ['Once ', 'upon'], stallAfter: 1 }, 'In time.'])
    const timeouts = { betweenChunksMs: 400 }
    const agent = defineAgent({ name: 'a', model, retry, timeouts })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'a' })
    expect(await (await chat.send('hi')).outcome()).toMatchObject({ status: 'completed', text: 'In time.' })
    expect((await chat.events())[1]!.content).toMatchObject({ code: 'model_timed_out' })
  })

  test('that always stalls fails the turn as timed out', async () => {
    const model = scriptedModel({ text: ['Once ', 'upon'], stallAfter: 0 })
    const agent = defineAgent({ name: 'a', model, retry, timeouts: { firstChunkMs: 10, betweenChunksMs: 10 } })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'a' })
    const outcome = await (await chat.send('hi')).outcome()
    expect(outcome).toMatchObject({ status: 'failed', text: '', reason: expect.stringMatching(/^model_timed_out: /) })
    expect(model.calls).toHaveLength(3)
  })
})

/** The same model, which tells at the beginning of each stream that its input has 7 tokens. */
function tellsUsage(model: LanguageModelV4): LanguageModelV4 {
  const rawValue = { type: 'message_start', message: { usage: { input_tokens: 7 } } }
  return {
    ...model,
    doStream: async (options) => {
      const { stream } = await model.doStream(options)
      const told = new TransformStream<LanguageModelV4StreamPart, LanguageModelV4StreamPart>({
        start: (controller) => controller.enqueue({ type: 'raw', rawValue }),
      })
      return { stream: stream.pipeThrough(told) }
    },
  }
}
