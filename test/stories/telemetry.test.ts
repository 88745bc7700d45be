import { context, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { postHook, preHook, regenerate } from '../../src/define/create-hook.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineFlow } from '../../src/define/define-flow.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { inject } from '../../src/define/turn.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { collectedTelemetry, millisOf, treeOf } from '../support/collected-telemetry.ts'
import { childTool } from './child-agents.ts'
import { mortalStore } from './mortal-store.ts'
import { overStores } from './over-stores.ts'
import { pacedModel } from './paced-model.ts'
import { onlyPendingOf, pendingOf } from './pending-of.ts'

const traceId = '0af7651916cd43dd8448eb211c80319c'
const traceparent = `00-${traceId}-b7ad6b7169203331-01`

const look = defineTool({ name: 'look', description: 'Look', input: z.object({}), run: () => 'a secret thing' })
const pay = defineTool({
  ...{ name: 'pay', description: 'Pay', input: z.object({}), approval: 'required' as const },
  run: () => 'paid',
})

function helper(audit: 'off' | 'records' | 'full' = 'records') {
  const model = scriptedModel(({ prompt }) => {
    const last = prompt.at(-1)!
    if (last.role !== 'user') return 'Done, said the model.'
    return { calls: [{ tool: JSON.stringify(last).includes('pay') ? 'pay' : 'look', args: {} }] }
  })
  return defineAgent({ name: 'helper', model, tools: [look, pay], audit })
}

overStores('telemetry of a turn', (story) => {
  test('is a tree below the span of the sender, with the times of the log', async () => {
    const collected = await collectedTelemetry()
    const runtime = story.start({ agents: [helper()], observe: collected.observe })
    const chat = runtime.conversation('c1', { agent: 'helper' })
    const turn = await chat.send('look', { traceparent })
    await turn.outcome()
    const spans = await collected.spans()
    expect(treeOf(spans)).toEqual([
      'invoke_agent helper',
      '  chat scripted-model',
      '  chat scripted-model',
      '  execute_tool look',
    ])
    const [work] = spans.filter(({ name }) => name === 'invoke_agent helper')
    const events = await chat.events()
    const at = (type: string) => events.find((event) => event.type === type)!.at
    expect(millisOf(work!.startTime)).toBe(at('user_msg'))
    expect(millisOf(work!.endTime)).toBe(at('turn_ended'))
    expect(work!.parentSpanContext).toMatchObject({ traceId, spanId: 'b7ad6b7169203331', isRemote: true })
    expect(new Set(spans.map((span) => span.spanContext().traceId))).toEqual(new Set([traceId]))
    expect(work!.kind).toBe(SpanKind.INTERNAL)
    expect(work!.attributes).toEqual({
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': 'helper',
      'gen_ai.conversation.id': 'c1',
      'session.id': 'c1',
      'perdure.tenant': 'default',
      'perdure.turn.id': turn.turnId,
      'perdure.status': 'completed',
    })
    const tool = spans.find(({ name }) => name === 'execute_tool look')!
    expect([millisOf(tool.startTime), millisOf(tool.endTime)]).toEqual([at('tool_started'), at('tool_result')])
    expect(tool.attributes).toMatchObject({ 'gen_ai.tool.name': 'look', 'gen_ai.tool.call.id': expect.any(String) })
    const chats = spans.filter(({ name }) => name === 'chat scripted-model')
    for (const span of chats) {
      expect(span.kind).toBe(SpanKind.CLIENT)
      expect(span.attributes).toMatchObject({
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'scripted',
        'gen_ai.request.model': 'scripted-model',
        'gen_ai.response.model': 'scripted-model',
        'gen_ai.usage.input_tokens': expect.any(Number),
        'gen_ai.usage.output_tokens': expect.any(Number),
        'perdure.timing': 'audit',
      })
    }
    const reasons = chats.flatMap((span) => span.attributes['gen_ai.response.finish_reasons'] as string[])
    expect(reasons.toSorted()).toEqual(['stop', 'tool-calls'])
  })

  test('has no words in it, unless they are asked for', async () => {
    for (const content of [false, true]) {
      const collected = await collectedTelemetry({ content })
      const runtime = story.start({ agents: [helper('full')], observe: collected.observe })
      await (await runtime.conversation('c1', { agent: 'helper' }).send('look, says Ann')).outcome()
      const text = JSON.stringify((await collected.spans()).map(({ attributes, name }) => ({ attributes, name })))
      for (const words of ['says Ann', 'secret thing', 'said the model']) expect(text.includes(words)).toBe(content)
    }
  })

  test('has spans of model calls without an audit too, by the times of the log', async () => {
    const collected = await collectedTelemetry()
    const runtime = story.start({ agents: [helper('off')], observe: collected.observe })
    const chat = runtime.conversation('c1', { agent: 'helper' })
    await (await chat.send('look')).outcome()
    const spans = await collected.spans()
    const timed = spans
      .filter(({ attributes }) => attributes['perdure.timing'] === 'log')
      .sort((one, other) => millisOf(one.endTime) - millisOf(other.endTime))
    const events = await chat.events()
    const [asked, called, , , answered] = events.map(({ at }) => at)
    expect(timed.map(({ startTime }) => millisOf(startTime))).toEqual([
      asked,
      events.find(({ type }) => type === 'tool_result')!.at,
    ])
    expect(millisOf(timed[0]!.endTime)).toBe(called)
    expect(answered).toBeDefined()
  })

  test('tells the work before a wait while it waits, and the wait apart from the work after it', async () => {
    const collected = await collectedTelemetry()
    const runtime = story.start({ agents: [helper()], observe: collected.observe })
    const chat = runtime.conversation('c1', { agent: 'helper' })
    const turn = await chat.send('pay', { traceparent })
    const { callId } = await onlyPendingOf(turn)
    await runtime.inspect('c1').record()
    await expect
      .poll(async () => treeOf(await collected.spans()))
      .toEqual(['invoke_agent helper', '  chat scripted-model'])
    await chat.note('meanwhile', {})
    await chat.approve(callId)
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    const spans = await collected.spans()
    expect(treeOf(spans)).toEqual([
      'invoke_agent helper',
      '  chat scripted-model',
      'invoke_agent helper',
      '  chat scripted-model',
      '  execute_tool pay',
      'wait_for_person pay',
    ])
    const events = await chat.events()
    const at = (type: string) => events.find((event) => event.type === type)!.at
    const wait = spans.find(({ name }) => name === 'wait_for_person pay')!
    expect([millisOf(wait.startTime), millisOf(wait.endTime)]).toEqual([at('suspension'), at('resolution')])
    expect(wait.attributes).toMatchObject({ 'perdure.wait.kind': 'approval', 'perdure.status': 'resolved' })
    const [before, after] = spans.filter(({ name }) => name === 'invoke_agent helper')
    expect(before!.attributes['perdure.status']).toBe('waiting')
    expect(millisOf(before!.endTime)).toBe(at('suspension'))
    expect(millisOf(after!.startTime)).toBe(at('resolution'))
    expect(new Set(spans.map((span) => span.spanContext().traceId))).toEqual(new Set([traceId]))
  })

  test('has a span for each request to a provider, also those that were tried again, and for what hooks did', async () => {
    const collected = await collectedTelemetry({ content: true })
    const model = scriptedModel([{ error: { status: 503 } }, 'a draft to be withheld', 'Fine.'])
    const remember = preHook('remember', (turn) => inject(turn, 'she likes hats'), { durable: true })
    const guard = postHook('guard', () => (model.calls.length < 3 ? regenerate('Again.') : undefined))
    const retry = { baseMs: 1, maxMs: 2 }
    const agent = defineAgent({ name: 'helper', model, hooks: [remember, guard], audit: 'records', retry })
    const runtime = story.start({ agents: [agent], observe: collected.observe })
    await (await runtime.conversation('c1', { agent: 'helper' }).send('hi', { traceparent })).outcome()
    const spans = await collected.spans()
    const chats = spans.filter(({ name }) => name === 'chat scripted-model')
    // What begins in one millisecond has no order.
    const tried = chats.map(({ attributes }) => `${attributes['perdure.attempt']} ${attributes['error.type']}`)
    expect(tried.toSorted()).toEqual(['1 model_failed', '1 undefined', '2 undefined'])
    const hooks = spans.filter(({ name }) => name.startsWith('run_hook ')).map(({ name }) => name)
    expect(hooks.toSorted()).toEqual(['run_hook guard', 'run_hook remember'])
    expect(JSON.stringify(spans.map(({ attributes }) => attributes))).not.toContain('to be withheld')
    expect((await collected.metrics())['perdure.model.retries']).toMatchObject([{ value: 1 }])
  })

  test('has each wait once, when one of two questions is answered long before the other', async () => {
    const collected = await collectedTelemetry()
    const ask = defineTool({
      ...{ name: 'ask', description: 'Ask', input: z.object({}) },
      ...{ executor: 'human' as const, output: z.string() },
    })
    const two = [1, 2].map(() => ({ tool: 'ask', args: {} }))
    const agent = defineAgent({ name: 'asker', model: scriptedModel([{ calls: two }, 'Done.']), tools: [ask] })
    const runtime = story.start({ agents: [agent], observe: collected.observe })
    const chat = runtime.conversation('c1', { agent: 'asker' })
    const turn = await chat.send('go', { traceparent })
    const [first, second] = await pendingOf(turn)
    await chat.answer(first!.callId, 'one')
    await expect.poll(async () => (await runtime.inspect('c1').record())?.lastSeq).toBeGreaterThan(6)
    await onlyPendingOf(turn)
    await chat.answer(second!.callId, 'two')
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    const names = (await collected.spans()).map(({ name }) => name)
    expect(names.filter((name) => name === 'wait_for_person ask')).toHaveLength(2)
    expect(names.filter((name) => name === 'invoke_agent asker')).toHaveLength(2)
  })

  test('is told by the process that ends a turn which another began', async () => {
    const [dead, alive] = [await collectedTelemetry(), await collectedTelemetry()]
    const model = pacedModel()
    const agent = defineAgent({ name: 'slow', model, tools: [look] })
    const store = story.openStore()
    const { store: mortal, kill } = mortalStore(store)
    const first = story.start({ agents: [agent], store: mortal, leaseMs: 150, observe: dead.observe })
    const { turnId } = await first.conversation('c1', { agent: 'slow' }).send('hello', { traceparent })
    const call = await model.called(1)
    kill()
    call.answer('never heard')
    const next = story.start({ agents: [agent], store: story.reopen(store), pollMs: 20, observe: alive.observe })
    await model.answer(2, 'hi')
    await next.conversation('c1').turn(turnId).outcome()
    expect(await dead.spans()).toEqual([])
    const spans = await alive.spans()
    expect(treeOf(spans)).toEqual(
      ['invoke_agent slow', '  chat paced'].map((line) => expect.stringContaining(line.slice(0, 6))),
    )
    const [sent] = await store.streamEvents('c1')
    expect(millisOf(spans.find(({ name }) => name === 'invoke_agent slow')!.startTime)).toBe(sent!.at)
    expect(spans.every((span) => span.spanContext().traceId === traceId)).toBe(true)
  })

  test('marks what failed, with its code', async () => {
    const collected = await collectedTelemetry()
    const broken = defineTool({
      ...{ name: 'look', description: 'Look', input: z.object({}) },
      run: () => Promise.reject(new Error('no eyes')),
    })
    const model = scriptedModel([{ calls: [{ tool: 'look', args: {} }] }, { error: { status: 400 } as never }])
    const agent = defineAgent({ name: 'helper', model, tools: [broken], retry: false })
    const runtime = story.start({ agents: [agent], observe: collected.observe })
    const turn = await runtime.conversation('c1', { agent: 'helper' }).send('look')
    expect(await turn.outcome()).toMatchObject({ status: 'failed' })
    const spans = await collected.spans()
    const errors = spans.map(({ name, status, attributes }) => [name, status.code, attributes['error.type']])
    expect(errors).toContainEqual(['execute_tool look', SpanStatusCode.ERROR, 'tool_failed'])
    expect(errors).toContainEqual(['invoke_agent helper', SpanStatusCode.ERROR, expect.stringMatching(/^model_/)])
    expect(JSON.stringify(spans.map(({ attributes }) => attributes))).not.toContain('no eyes')
  })

  test('of a child agent belongs to the trace of its parent', async () => {
    const collected = await collectedTelemetry()
    const child = defineAgent({ name: 'child', model: scriptedModel(['ok']) })
    const model = scriptedModel([{ calls: [{ tool: 'ask_child', args: { task: 'go' } }] }, 'Done.'])
    const parent = defineAgent({ name: 'parent', model, tools: [childTool('ask_child', child)] })
    const runtime = story.start({ agents: [parent], observe: collected.observe })
    await (await runtime.conversation('c1', { agent: 'parent' }).send('go', { traceparent })).outcome()
    const spans = await collected.spans()
    expect(new Set(spans.map((span) => span.spanContext().traceId))).toEqual(new Set([traceId]))
    expect(
      treeOf(spans)
        .filter((line) => !line.startsWith('  '))
        .sort(),
    ).toEqual(['execute_tool ask_child', 'invoke_agent child', 'invoke_agent parent', 'invoke_agent parent'])
  })

  test('of a sender without a trace begins one, and of a sender with an active span joins it', async () => {
    const collected = await collectedTelemetry()
    const runtime = story.start({ agents: [helper()], observe: collected.observe })
    await (await runtime.conversation('c1', { agent: 'helper' }).send('look')).outcome()
    expect(treeOf(await collected.spans())).toEqual([
      'send helper',
      '  invoke_agent helper',
      '    chat scripted-model',
      '    chat scripted-model',
      '    execute_tool look',
    ])
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
    try {
      const spanContext = { traceId, spanId: 'aaaaaaaaaaaaaaaa', traceFlags: 1 }
      const active = trace.setSpanContext(context.active(), spanContext)
      const turn = await context.with(active, () => runtime.conversation('c2', { agent: 'helper' }).send('look'))
      await turn.outcome()
      const [sent] = await runtime.conversation('c2').events()
      expect(sent).toMatchObject({ content: { traceparent: `00-${traceId}-aaaaaaaaaaaaaaaa-01` } })
    } finally {
      context.disable()
    }
  })

  test('is kept with a message, and is no part of what a key stands for', async () => {
    const runtime = story.start({ agents: [helper()] })
    const chat = runtime.conversation('c1', { agent: 'helper' })
    const first = await chat.send('look', { key: 'k', traceparent })
    const again = await chat.send('look', { key: 'k', traceparent: traceparent.replace('b7', 'c8') })
    expect(again.turnId).toBe(first.turnId)
    expect((await chat.events())[0]).toMatchObject({ content: { traceparent } })
    await expect(chat.send('x', { traceparent: 'nonsense' })).rejects.toMatchObject({ code: 'invalid_argument' })
    await first.outcome()
  })
})

overStores('telemetry of a session', (story) => {
  test('tells its steps and the waits for people apart', async () => {
    const collected = await collectedTelemetry()
    const flow = defineFlow({
      ...{ name: 'order', version: '1' },
      async run({ step, suspend }) {
        await step('reserve', async () => 'ok')
        const answer = await suspend('sure?')
        await step('ship', async () => 'ok')
        return answer
      },
    })
    const runtime = story.start({ agents: [], flows: [flow], observe: collected.observe })
    const session = runtime.flow(flow, 's1')
    expect(await session.start(null, { traceparent })).toMatchObject({ status: 'waiting' })
    expect(treeOf(await collected.spans())).toEqual(['invoke_workflow order', '  run_step reserve'])
    expect(await session.resume('yes')).toMatchObject({ status: 'done' })
    const spans = await collected.spans()
    expect(treeOf(spans)).toEqual([
      'invoke_workflow order',
      '  run_step reserve',
      'invoke_workflow order',
      '  run_step ship',
      'wait_for_person suspend',
    ])
    expect(spans.every((span) => span.spanContext().traceId === traceId)).toBe(true)
  })
})

overStores('metrics', (story) => {
  test('count turns, durations, tokens and what waits', async () => {
    const store = story.openStore()
    const collected = await collectedTelemetry({ store })
    const runtime = story.start({ agents: [helper()], store, observe: collected.observe })
    await (await runtime.conversation('c1', { agent: 'helper' }).send('look')).outcome()
    await onlyPendingOf(await runtime.conversation('c2', { agent: 'helper' }).send('pay'))
    const metrics = await collected.metrics()
    expect(metrics['perdure.turns']).toEqual([
      { attributes: { 'gen_ai.agent.name': 'helper', 'perdure.status': 'completed' }, value: 1 },
    ])
    expect(metrics['gen_ai.client.operation.duration']).toMatchObject([{ value: { count: 3 } }])
    expect(metrics['gen_ai.execute_tool.duration']).toMatchObject([
      { attributes: { 'gen_ai.tool.name': 'look' }, value: { count: 1 } },
    ])
    expect(metrics['perdure.queue.duration']).toMatchObject([{ value: { count: 2 } }])
    const types = metrics['gen_ai.client.token.usage']?.map(({ attributes }) => Object(attributes)['gen_ai.token.type'])
    expect(types?.sort()).toEqual(['input', 'output'])
    expect(metrics['perdure.inbox.waiting']).toEqual([{ attributes: {}, value: 1 }])
    expect(metrics['perdure.expiry.lag']).toEqual([{ attributes: {}, value: 0 }])
  })
})
