import { expect, test } from 'vitest'
import { z } from 'zod'
import { preHook } from '../../src/define/create-hook.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createScope } from '../../src/define/scope.ts'
import type { LogEvent } from '../../src/log/events.ts'
import type { Conversation } from '../../src/runtime/conversation.ts'
import { untilState } from '../../src/testing/fake-clock.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { checkHistory } from '../log/check-history.ts'
import { gate } from './gate.ts'
import { overStores } from './over-stores.ts'
import { pacedModel } from './paced-model.ts'
import { recordedStore } from './recorded-store.ts'
import { shapeOf } from './texts.ts'
import { until } from './until.ts'
import { untilShown } from './until-shown.ts'

overStores('cancelling a turn', (story) => {
  /** Starts a conversation whose commits can be counted. */
  function open(attributes: Omit<Parameters<typeof defineAgent>[0], 'name'>) {
    const { store, commits } = recordedStore(story.openStore())
    const agent = defineAgent({ ...attributes, name: 'worker' })
    const runtime = story.start({ agents: [agent], store })
    const chat = runtime.as(createScope({ user: 'ann' })).conversation('c1', { agent: 'worker' })
    return { chat: chat as Conversation, commits }
  }

  /** Cancels; what comes after the request must be one commit, durable when the cancel returns. Gives its events. */
  async function cancelled({ chat, commits }: ReturnType<typeof open>, options?: { turnId: string }) {
    const outcome = await chat.cancel(options)
    const events = await chat.events()
    const request = commits.findIndex(({ events: [first] }) => first?.type === 'cancel_requested')
    const answers = commits.slice(request + 1).filter((commit) => commit.events.length > 0)
    expect(answers).toHaveLength(1)
    expect(outcome).toMatchObject({ status: 'cancelled' })
    checkHistory(events)
    return { outcome, events: events.slice(-answers[0]!.events.length) }
  }

  test('that is being prepared by a hook that hangs', async () => {
    const isIn = gate()
    const hook = preHook('hang', () => {
      isIn.open()
      return new Promise<never>(() => {})
    })
    const opened = open({ model: scriptedModel('never'), hooks: [hook] })
    const turn = await opened.chat.send('go')
    await isIn.opened
    const { events } = await cancelled(opened)
    expect(shapeOf(events)).toEqual(['turn_ended cancelled'])
    expect(await turn.outcome()).toMatchObject({ status: 'cancelled', text: '' })
  })

  test('that waits for the first word of a model', async () => {
    const model = pacedModel()
    const opened = open({ model })
    await opened.chat.send('go')
    const call = await model.called(1)
    const { events } = await cancelled(opened)
    expect(shapeOf(events)).toEqual(['turn_ended cancelled'])
    expect(call.signal?.aborted).toBe(true)
  })

  test('that is streaming: what was said is kept, and its calls are not run', async () => {
    const model = pacedModel()
    const runs: string[] = []
    const tool = defineTool({ name: 'act', description: 'Act', input: z.object({}), run: () => void runs.push('act') })
    const opened = open({ model, tools: [tool] })
    await opened.chat.send('go')
    const call = await model.called(1)
    call.say('I will')
    call.call('act', {})
    await untilShown(opened.chat, 'I will{}')
    const { outcome, events } = await cancelled(opened)
    expect(shapeOf(events)).toEqual(['assistant_msg cancelled', 'turn_ended cancelled'])
    expect(outcome).toMatchObject({ status: 'cancelled', text: 'I will' })
    expect(contentOf(events, 'assistant_msg')).toMatchObject({
      parts: [
        { type: 'text', text: 'I will' },
        { type: 'plain_call', name: 'act' },
      ],
    })
    expect(runs).toEqual([])
  })

  test('whose model waits before it tries again', async () => {
    const model = scriptedModel({ error: { status: 429, headers: { 'retry-after': '50' } } })
    const opened = open({ model })
    await opened.chat.send('go')
    await until(() => model.calls.length === 1)
    const { events } = await cancelled(opened)
    expect(shapeOf(events)).toEqual(['turn_ended cancelled'])
    expect(model.calls).toHaveLength(1)
  })

  test('whose tools run, also one that ignores its signal: what they did is unknown, and what they return is not taken', async () => {
    const isDone = gate<string>()
    const signals: AbortSignal[] = []
    const stubborn = defineTool({
      name: 'stubborn',
      description: 'Goes on',
      input: z.object({}),
      run: (_, turn) => {
        signals.push(turn.signal)
        return isDone.opened
      },
    })
    const calls = ['one', 'two', 'three'].map((id) => ({ tool: 'stubborn', args: {}, id }))
    const opened = open({ model: scriptedModel({ calls }), tools: [stubborn], maxParallelCalls: 2 })
    await opened.chat.send('go')
    await until(() => signals.length === 2)
    const { events } = await cancelled(opened)
    expect(shapeOf(events)).toEqual(['tool_result', 'tool_result', 'tool_result', 'turn_ended cancelled'])
    const results = events.flatMap((event) => (event.type === 'tool_result' ? [event.content] : []))
    expect(results).toMatchObject([{ outcome: 'unknown' }, { outcome: 'unknown' }, { ok: false }])
    expect(results[2]).toMatchObject({ error: 'cancelled before it was started' })
    expect(results[2]).not.toHaveProperty('outcome')
    expect(signals.map((signal) => signal.aborted)).toEqual([true, true])
    const { lastSeq } = (await opened.chat.view()).log
    isDone.open('too late')
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect((await opened.chat.view()).seq).toBe(lastSeq)
  })

  test('that waits for a person: the call is resolved as cancelled by the caller of cancel', async () => {
    const ask = defineTool({
      name: 'ask',
      description: 'Ask',
      input: z.object({}),
      executor: 'human',
      output: z.string(),
    })
    const opened = open({ model: scriptedModel({ calls: [{ tool: 'ask', args: {} }] }), tools: [ask] })
    const turn = await opened.chat.send('go')
    const { pending } = await untilState(opened.chat, 'waiting')
    const { events } = await cancelled(opened)
    expect(shapeOf(events)).toEqual(['resolution cancelled', 'turn_ended cancelled'])
    expect(contentOf(events, 'resolution')).toMatchObject({ who: 'ann', status: 'cancelled' })
    expect(await turn.outcome()).toMatchObject({ status: 'cancelled' })
    expect(await opened.chat.answer(pending[0]!, 'late')).toMatchObject({
      accepted: false,
      resolution: { status: 'cancelled', who: 'ann' },
    })
  })

  test('that is queued: it ends at once, and is never rendered', async () => {
    const model = pacedModel()
    const opened = open({ model })
    const first = await opened.chat.send('one')
    const queued = await opened.chat.send('two', { whenBusy: 'queue' })
    const last = await opened.chat.send('three', { whenBusy: 'queue' })
    const call = await model.called(1)
    expect(await opened.chat.cancel({ turnId: queued.turnId })).toMatchObject({ status: 'cancelled' })
    expect(call.signal?.aborted).toBe(false)
    call.answer('first')
    expect(await first.outcome()).toMatchObject({ status: 'completed' })
    await model.answer(2, 'third')
    expect(await last.outcome()).toMatchObject({ status: 'completed', text: 'third' })
    expect(JSON.stringify(model.calls[1]!.prompt)).not.toContain('two')
    const view = await opened.chat.view()
    expect(view.messages.some((message) => message.turnId === queued.turnId)).toBe(false)
    checkHistory(await opened.chat.events())
  })

  test('twice at once ends it once, and both are told', async () => {
    const model = pacedModel()
    const opened = open({ model })
    await opened.chat.send('go')
    await model.called(1)
    const outcomes = await Promise.all([opened.chat.cancel(), opened.chat.cancel(), opened.chat.cancel()])
    // The late caller found nothing to cancel.
    expect(outcomes.filter((outcome) => outcome !== null).length).toBeGreaterThan(0)
    for (const outcome of outcomes) if (outcome) expect(outcome).toMatchObject({ status: 'cancelled' })
    checkHistory(await opened.chat.events())
  })

  test('that has ended, or never was, finds nothing to cancel', async () => {
    const opened = open({ model: scriptedModel('done') })
    expect(await opened.chat.cancel()).toBeNull()
    const turn = await opened.chat.send('go')
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(await opened.chat.cancel()).toBeNull()
    expect(await opened.chat.cancel({ turnId: turn.turnId })).toBeNull()
    expect(await opened.chat.cancel({ turnId: 'nobody' })).toBeNull()
    expect(shapeOf(await opened.chat.events())).toEqual(['user_msg', 'assistant_msg complete', 'turn_ended completed'])
  })

  test('from another process reaches the lease holder', async () => {
    const model = pacedModel()
    const agent = defineAgent({ name: 'worker', model })
    const store = story.openStore()
    const here = story.start({ agents: [agent], store }).conversation('c1', { agent: 'worker' })
    const there = story.start({ agents: [agent], store: story.reopen(store), work: false }).conversation('c1')
    const turn = await here.send('go')
    const call = await model.called(1)
    call.say('as I was')
    await untilShown(here, 'as I was')
    expect(await there.cancel()).toMatchObject({ status: 'cancelled', text: 'as I was' })
    expect(await turn.outcome()).toMatchObject({ status: 'cancelled', text: 'as I was' })
    expect(call.signal?.aborted).toBe(true)
  })

  test('leaves a conversation that goes on as if nothing had been', async () => {
    const model = pacedModel()
    const opened = open({ model })
    await opened.chat.send('one')
    await model.called(1)
    await cancelled(opened)
    const turn = await opened.chat.send('two')
    await model.answer(2, 'second')
    expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'second' })
  })
})

function contentOf(events: readonly LogEvent[], type: LogEvent['type']): unknown {
  return events.find((event) => event.type === type)?.content
}
