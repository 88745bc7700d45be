import { expect, test } from 'vitest'
import { z } from 'zod'
import { silentLogger } from '../../src/base/logger.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createScope, type Scope } from '../../src/define/scope.ts'
import type { AuthorizeRequest } from '../../src/runtime/authorize/authorize.ts'
import type { Conversation } from '../../src/runtime/conversation.ts'
import type { Runtime } from '../../src/runtime/runtime.ts'
import { createHandler } from '../../src/server/index.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { childTool } from './child-agents.ts'
import { flakyStore } from './flaky-store.ts'
import { overStores, type StoryContext } from './over-stores.ts'
import { onlyPendingOf } from './pending-of.ts'

const scope = createScope({ user: 'bob', tenant: 'acme' }) as Scope

/** Approvals of at most 100 cents are allowed, and every answer. */
async function waiting(story: StoryContext, asked = 7, { inChild = false } = {}) {
  const paid: number[] = []
  const requests: AuthorizeRequest[] = []
  const refund = defineTool({
    ...{ name: 'refund', description: 'Refund', approval: 'required', input: z.object({ cents: z.number() }) },
    run: ({ cents }) => void paid.push(cents),
  })
  const calls = [{ tool: 'refund', args: { cents: asked } }]
  const model = scriptedModel(({ prompt }) => (prompt.at(-1)?.role === 'tool' ? 'Done.' : { calls }))
  const clerk = defineAgent({ name: 'clerk', model, tools: [refund] })
  const boss = defineAgent({
    name: 'boss',
    model: scriptedModel(({ prompt }) =>
      prompt.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ tool: 'ask', args: { task: 'pay' } }] },
    ),
    tools: [childTool('ask', clerk)],
  })
  const runtime = story.start({
    agents: [inChild ? boss : clerk],
    pollMs: 20,
    authorize(request) {
      requests.push(request)
      if (request.action !== 'approve') return true
      return ((request.call?.args as { cents?: number } | undefined)?.cents ?? 1_000) <= 100
    },
  })
  const verbs = runtime.as(scope)
  const chat = verbs.conversation('c', { agent: (inChild ? 'boss' : 'clerk') as never }) as Conversation
  const turn = await chat.send('Go')
  const call = await onlyPendingOf(turn)
  requests.length = 0
  const asks = () => requests.filter(({ action }) => action === 'approve').map((request) => request.call)
  return { runtime, verbs, chat, turn, call, paid, requests, asks }
}

const gone = { code: 'call_not_found' }

overStores('authorize of an answer', (story) => {
  test.each([false, true])(
    'is asked about the arguments that the approver has put in (in a child: %s)',
    async (inChild) => {
      const { verbs, chat, turn, call, paid, asks } = await waiting(story, 7, { inChild })
      const args = { cents: 1_000_000 }
      await expect(chat.approve(call, { args })).rejects.toMatchObject(gone)
      await expect(verbs.resolve('c', call, { approved: true, args })).rejects.toMatchObject(gone)
      const { callId } = call
      const edited = { before: { cents: 7 } }
      expect(asks()).toEqual(Array(2).fill({ callId, tool: 'refund', kind: 'approval', args, edited }))
      expect(await chat.approve(call, { args: { cents: 50 } })).toEqual({ accepted: true })
      expect(await turn.outcome()).toMatchObject({ status: 'completed' })
      expect(paid).toEqual([50])
    },
  )

  test('lets a smaller refund be approved where the one that was asked for may not be', async () => {
    const { verbs, chat, turn, call, paid } = await waiting(story, 5_000)
    await expect(chat.approve(call)).rejects.toMatchObject(gone)
    await expect(verbs.resolve('c', call, true)).rejects.toMatchObject(gone)
    expect(await verbs.resolve('c', call, { approved: true, args: { cents: 60 } })).toEqual({ accepted: true })
    await turn.outcome()
    expect(paid).toEqual([60])
  })

  test.each([
    [5_000, 'call_not_found'],
    [7, 'invalid_answer'],
  ])('tells only a caller who may decide that an answer decides nothing (%i cents: %s)', async (cents, code) => {
    const { verbs, call } = await waiting(story, cents)
    await expect(verbs.resolve('c', call, { approved: 'perhaps' })).rejects.toMatchObject({ code })
  })

  test.each([
    ['kind', { kind: 'elicitation' }],
    ['arguments', { args: { cents: 1 } }],
  ] as const)('takes kind and arguments from the log, also where the row has another %s', async (_, damage) => {
    const { runtime, verbs, chat, call, paid, asks } = await waiting(story, 5_000)
    const { callId } = call
    const tenant = runtime.store.forTenant('acme')
    await tenant.upsertToolCall('c', { id: callId, name: 'refund', ...damage })
    await expect(verbs.resolve('c', callId, true)).rejects.toMatchObject(gone)
    await expect(verbs.resolve('c', { callId, round: 1 }, { approved: true })).rejects.toMatchObject(gone)
    await expect(chat.approve(callId)).rejects.toMatchObject(gone)
    expect(asks()).toEqual(Array(3).fill({ callId, tool: 'refund', kind: 'approval', args: { cents: 5_000 } }))
    expect(paid).toEqual([])
  })

  test('is not asked by the row while the store fails to read the log', async () => {
    const { runtime, call, paid, asks } = await waiting(story, 5_000)
    const { callId } = call
    await runtime.store.forTenant('acme').upsertToolCall('c', { id: callId, name: 'refund', args: { cents: 1 } })
    const flaky = flakyStore(story.reopen(runtime.store), { method: 'pageSince' as never, times: 1 })
    const judged: AuthorizeRequest[] = []
    const other = story.start({
      agents: [],
      store: flaky.store,
      authorize: (request) => judged.push(request) > 0,
    })
    const approving = other.as(scope).conversation('c').approve(callId)
    await expect(approving).rejects.toMatchObject({ code: 'store_failed', retryable: true })
    expect(flaky.failures()).toBe(1)
    expect([judged, asks(), paid]).toEqual([[], [], []])
  })

  test('judges what the tool will get, whatever was shown to the first question', async () => {
    const { chat, call, paid, asks } = await waiting(story)
    let reads = 0
    const shifting = Object.defineProperty({}, 'args', {
      enumerable: true,
      get: () => ({ cents: ++reads === 1 ? 1 : 1_000_000 }),
    })
    await expect(chat.approve(call, shifting)).rejects.toMatchObject(gone)
    expect(asks().map((asked) => asked?.args)).toEqual([{ cents: 1 }, { cents: 1_000_000 }])
    expect(paid).toEqual([])
  })

  test('is asked about edited arguments over HTTP, too', async () => {
    const { runtime, chat, turn, call, paid, asks } = await waiting(story, 5_000)
    const handler = createHandler(runtime as unknown as Runtime, { authenticate: () => scope, logger: silentLogger })
    const post = async (verb: string, body: unknown) => {
      const url = `http://localhost/conversations/c/calls/${call.callId}/${verb}`
      const headers = { 'content-type': 'application/json', host: 'localhost' }
      return (await handler(new Request(url, { method: 'POST', headers, body: JSON.stringify(body) }))).status
    }
    expect(await post('approve', {})).toBe(404)
    expect(await post('approve', { args: { cents: 101 } })).toBe(404)
    expect(await post('resolve', { value: { approved: true, args: { cents: 101 } } })).toBe(404)
    expect(asks().map((asked) => asked?.args)).toEqual([{ cents: 5_000 }, { cents: 101 }, { cents: 101 }])
    expect(await post('approve', { args: { cents: 99 } })).toBe(200)
    await turn.outcome()
    expect(paid).toEqual([99])
    expect((await chat.view()).pending).toEqual([])
    handler.close()
  })
})
