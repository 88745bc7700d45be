import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import type { Json } from '../../src/base/json.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import type { Tool } from '../../src/define/tool.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { checkHistory } from '../log/check-history.ts'
import { faultsIn } from '../upkeep/faults-in.ts'
import { childTool } from './child-agents.ts'
import { gate } from './gate.ts'
import { mortalStore } from './mortal-store.ts'
import { overStores, type StoryContext } from './over-stores.ts'
import { onlyPendingOf } from './pending-of.ts'
import { toolResults } from './tool-results.ts'
import { until } from './until.ts'

vi.setConfig({ testTimeout: 30_000 })

const quick = { leaseMs: 200, pollMs: 20 }

/** An agent that calls its one tool, then says `Done.` */
function caller(tool: Tool, args: { readonly [name: string]: string } = {}) {
  const model = scriptedModel(({ prompt }) =>
    prompt.some((message) => message.role === 'tool') ? 'Done.' : { calls: [{ tool: tool.name, args }] },
  )
  return { agent: defineAgent({ name: 'caller', model, tools: [tool] }), model }
}

function pay(runs: unknown[]) {
  return defineTool({
    name: 'pay',
    description: 'Pay',
    input: z.object({}),
    approval: 'required',
    run: (args) => void runs.push(args),
  })
}

const question = defineTool({
  ...{ name: 'ask', description: 'Ask', input: z.object({}), executor: 'human', output: z.string() },
})
const page = defineTool({
  ...{ name: 'fill', description: 'Fill in', input: z.object({}), executor: 'client', output: z.string() },
})
const idler = defineAgent({
  name: 'idler',
  model: scriptedModel({ calls: [{ tool: 'ask', args: {} }] }),
  tools: [question],
})

/** Ends the one call of a turn as errored, and tells what the model read of it. */
async function endAsErrored(story: StoryContext, tool: Tool, value: Json, args = {}) {
  const { agent, model } = caller(tool, args)
  const runtime = story.start({ agents: [agent, idler] })
  const { store } = runtime
  const chat = runtime.conversation('c1', { agent: 'caller' })
  const turn = await chat.send('go')
  const call = await until(async () => (await store.pendingToolCalls('c1'))[0])
  expect(await store.resolveToolCall(call.id, 'errored', value, { who: 'ann' })).toBe('ok')
  expect(await until(async () => (await chat.view()).phase === 'idle')).toBe(true)
  expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'Done.' })
  const events = await chat.events()
  checkHistory(events)
  expect(await store.getToolCall(call.id)).toMatchObject({ status: 'errored', result: value })
  // A child agent whose call was ended from outside is another conversation, and the doctor has its say about that.
  expect((await faultsIn(store)).filter((fault) => fault.includes('default/c1:'))).toEqual([])
  const resolution = events.find((event) => event.type === 'resolution')
  return { read: toolResults(model, 2), resolution: resolution?.content }
}

overStores('a pending call that is ended as errored', (story) => {
  test('an approval is not granted: the tool does not run, and the model reads why', async () => {
    const runs: unknown[] = []
    const { read, resolution } = await endAsErrored(story, pay(runs), 'the bank is closed')
    expect(runs).toEqual([])
    expect(read).toEqual([['pay', { type: 'error-text', value: 'tool call denied: the bank is closed' }]])
    expect(resolution).toMatchObject({ kind: 'approval', status: 'denied', value: 'the bank is closed', who: 'ann' })
  })

  test('whatever shape the reason has, the doctor finds nothing', async () => {
    const { read } = await endAsErrored(story, pay([]), { error: 'the bank is closed', code: 7 })
    expect(read).toEqual([['pay', { type: 'error-text', value: 'tool call denied: the bank is closed' }]])
  })

  test('an approval whose row says that it is a client tool is not granted either', async () => {
    const runs: unknown[] = []
    const { agent, model } = caller(pay(runs))
    const runtime = story.start({ agents: [agent] })
    const turn = await runtime.conversation('c1', { agent: 'caller' }).send('go')
    const { callId } = await onlyPendingOf(turn)
    await runtime.store.upsertToolCall('c1', { id: callId, kind: 'client_exec', executor: 'client' })
    expect(await runtime.store.resolveToolCall(callId, 'errored', 'no')).toBe('ok')
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(runs).toEqual([])
    expect(toolResults(model, 2)).toEqual([['pay', { type: 'error-text', value: 'no' }]])
  })

  test('a question ends with an error, not with an answer', async () => {
    const { read, resolution } = await endAsErrored(story, question, 'the form is gone')
    expect(read).toEqual([['ask', { type: 'error-text', value: 'the form is gone' }]])
    expect(resolution).toMatchObject({ kind: 'elicitation', status: 'denied', who: 'ann' })
  })

  test('a client tool ends with an error, not with a result', async () => {
    const { read, resolution } = await endAsErrored(story, page, 'the page crashed')
    expect(read).toEqual([['fill', { type: 'error-text', value: 'the page crashed' }]])
    expect(resolution).toMatchObject({ kind: 'client_exec', status: 'denied', value: 'the page crashed', who: 'ann' })
  })

  test('the call of a child agent ends with an error', async () => {
    const { read } = await endAsErrored(story, childTool('delegate', idler), 'stopped by hand', { task: 'wait' })
    expect(read).toEqual([['delegate', { type: 'error-text', value: 'stopped by hand' }]])
  })

  test('an interrupted call is not run again, whatever the reason says', async () => {
    const runs: unknown[] = []
    const started = gate()
    const order = defineTool({
      name: 'order',
      description: 'Order',
      input: z.object({}),
      ifInterrupted: 'ask',
      run: (args) => {
        runs.push(args)
        started.open()
        return new Promise(() => {})
      },
    })
    const data = story.openStore()
    const dying = mortalStore(data)
    const first = story.start({ agents: [caller(order).agent], store: dying.store, ...quick })
    const { turnId } = await first.conversation('c1', { agent: 'caller' }).send('go')
    await started.opened
    dying.kill()
    const { agent, model } = caller(order)
    const runtime = story.start({ agents: [agent], store: story.reopen(data), ...quick })
    const turn = runtime.conversation('c1', { agent: 'caller' }).turn(turnId)
    const { callId } = await onlyPendingOf(turn)
    expect(await runtime.store.resolveToolCall(callId, 'errored', 'rerun')).toBe('ok')
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(runs).toHaveLength(1)
    expect(toolResults(model, 1)).toEqual([['order', { type: 'error-text', value: 'rerun (outcome: unknown)' }]])
  })

  test('a later answer learns who ended it and why', async () => {
    const { agent } = caller(question)
    const runtime = story.start({ agents: [agent] })
    const chat = runtime.conversation('c1', { agent: 'caller' })
    const turn = await chat.send('go')
    const call = await onlyPendingOf(turn)
    await runtime.store.resolveToolCall(call.callId, 'errored', 'the form is gone', { who: 'ann' })
    expect(await chat.answer(call, 'yes')).toEqual({
      accepted: false,
      resolution: { status: 'denied', value: 'the form is gone', who: 'ann', at: expect.any(Number) },
    })
  })
})
