import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { createClient } from '../../src/client/create-client.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createScope } from '../../src/define/scope.ts'
import { createHandler } from '../../src/server/create-handler.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { examineStore } from '../../src/upkeep/examine-store.ts'
import { toldOverHttp, waitingSubscriber } from '../support/told-elsewhere.ts'
import { overStores } from './over-stores.ts'
import { onlyPendingOf } from './pending-of.ts'

vi.setConfig({ testTimeout: 20_000 })

const line = 'Refund 50.00 EUR for order o-17'

function refund(more: { readonly prompt?: () => string | { readonly title: string } } = {}) {
  return defineTool({
    name: 'refund',
    description: 'Pay an order back',
    input: z.object({ order: z.string(), cents: z.number() }),
    approval: 'required',
    describe: ({ order, cents }) => `Refund ${(cents / 100).toFixed(2)} EUR for order ${order}`,
    run: () => 'paid',
    ...more,
  })
}

function desk(tool = refund()) {
  const model = scriptedModel(({ prompt }) =>
    prompt.some(({ role }) => role === 'tool')
      ? 'Done.'
      : { calls: [{ tool: 'refund', args: { order: 'o-17', cents: 5_000 } }] },
  )
  return defineAgent({ name: 'desk', model, tools: [tool] })
}

overStores('what a tool says that a call will do', (story) => {
  test('is recorded with the call and shown wherever the call waits', async () => {
    const runtime = story.start({ agents: [desk()] })
    const chat = runtime.conversation('c1', { agent: 'desk' })
    const turn = await chat.send('refund it')
    const call = await onlyPendingOf(turn)
    expect(call).toMatchObject({ description: line, prompt: line })
    const events = await chat.events()
    expect(events.find(({ type }) => type === 'tool_call')).toMatchObject({ content: { description: line } })
    expect(await chat.view()).toMatchObject({
      pending: [{ description: line }],
      messages: [{ role: 'user' }, { role: 'assistant', parts: [{ type: 'call', description: line }] }],
    })
    expect(await runtime.inbox()).toMatchObject([{ tool: 'refund', description: line }])
    const handler = createHandler(runtime as never, { authenticate: () => createScope({ user: 'ann' }) as never })
    const fetch = (async (url: string, init?: RequestInit) =>
      handler(new Request(url, init))) as typeof globalThis.fetch
    const client = createClient({ url: 'http://localhost', fetch })
    expect(await client.inbox()).toMatchObject({ items: [{ description: line }] })
    expect(await client.conversation('c1').view()).toMatchObject({ pending: [{ description: line }] })
    await chat.approve(call)
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(await chat.view()).toMatchObject({ messages: [{}, { parts: [{ description: line }] }, {}] })
  })

  test.each([
    ['an object', { title: 'Refund?' }],
    ['a text', 'May it be refunded?'],
  ])('stands beside a prompt of the tool that is %s, also for those who are told elsewhere', async (_, prompt) => {
    const { calls, subscriber } = waitingSubscriber()
    const runtime = story.start({ agents: [desk(refund({ prompt: () => prompt }))], subscribers: [subscriber] })
    const turn = await runtime.conversation('c1', { agent: 'desk' }).send('refund it')
    const item = { tool: 'refund', description: line, prompt }
    const { callId } = await onlyPendingOf(turn)
    expect(await onlyPendingOf(turn)).toMatchObject(item)
    expect(await runtime.inbox()).toMatchObject([item])
    const { questions, items } = await toldOverHttp(runtime, 'desk', 'c1')
    expect([questions, items]).toMatchObject([[item], [item]])
    await vi.waitFor(() => expect(calls).toMatchObject([item]), { timeout: 10_000 })
    // The row is rebuilt from the log.
    await runtime.close()
    const { name, args } = (await runtime.store.getToolCall(callId))!
    await runtime.store.upsertToolCall('c1', { id: callId, name, args, prompt })
    expect(await examineStore(runtime.store)).toMatchObject({ faults: 1 })
    expect(await examineStore(runtime.store, { repair: true })).toMatchObject({ faults: 0 })
    expect(await runtime.store.getToolCall(callId)).toMatchObject({ notice: { description: line } })
  })

  test('goes with the call into a fork', async () => {
    const runtime = story.start({ agents: [desk()] })
    const chat = runtime.conversation('c1', { agent: 'desk' })
    await (await chat.send('refund it')).outcome()
    const fork = await chat.fork({ id: 'c2' })
    expect(await fork.view()).toMatchObject({ pending: [{ description: line }] })
    expect(await runtime.inbox()).toMatchObject([{ description: line }, { description: line }])
  })
})
