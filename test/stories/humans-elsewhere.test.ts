import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineFlow } from '../../src/define/define-flow.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createScope } from '../../src/define/scope.ts'
import { foldEvents } from '../../src/log/fold-events.ts'
import { baseOf } from '../../src/log/state.ts'
import type { Answered, CallRef } from '../../src/runtime/answer-call.ts'
import type { Runtime } from '../../src/runtime/runtime.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { bossOf, childTool } from './child-agents.ts'
import { overStores, type StoryContext } from './over-stores.ts'
import { onlyPendingOf } from './pending-of.ts'

const notFound = { code: 'call_not_found' }

/** Every way to answer a call in the library. */
const ways: readonly [string, (runtime: Runtime, id: string, call: CallRef) => Promise<Answered>][] = [
  ['approve', (runtime, id, call) => runtime.conversation(id).approve(call)],
  ['approve with other arguments', (runtime, id, call) => runtime.conversation(id).approve(call, { args: {} })],
  ['deny', (runtime, id, call) => runtime.conversation(id).deny(call)],
  ['answer', (runtime, id, call) => runtime.conversation(id).answer(call, 'x')],
  ['resolve', (runtime, id, call) => runtime.resolve(id, call, true)],
]

const pay = defineTool({
  name: 'pay',
  description: 'Pay',
  input: z.object({}),
  approval: 'required',
  run: () => 'paid',
})
const asking = () =>
  scriptedModel(({ prompt }) =>
    prompt.some((message) => message.role === 'tool') ? 'Done.' : { calls: [{ tool: 'pay', args: {} }] },
  )

/** Two conversations that have nothing to do with each other. The call of the first waits. */
async function start(story: StoryContext) {
  const clerk = defineAgent({ name: 'clerk', model: asking(), tools: [pay] })
  const runtime = story.start({ agents: [clerk] })
  const mine = runtime.conversation('mine', { agent: 'clerk' })
  const turn = await mine.send('go')
  const call = await onlyPendingOf(turn)
  const other = await runtime.conversation('other', { agent: 'clerk' }).send('go')
  await other.outcome()
  return { runtime: runtime as unknown as Runtime, store: runtime.store, mine, turn, call }
}

overStores('a call of another conversation', (story) => {
  test.each(ways)('is not found while it waits: %s', async (_, answer) => {
    const { runtime, call, mine } = await start(story)
    await expect(answer(runtime, 'other', call)).rejects.toMatchObject(notFound)
    const forged = { ...call, conversationId: 'other' }
    await expect(answer(runtime, 'other', forged)).rejects.toMatchObject(notFound)
    expect((await mine.view()).pending).toMatchObject([{ callId: call.callId }])
  })

  test.each(ways)(
    'is not found when it has been answered, and nothing is told of the answer: %s',
    async (_, answer) => {
      const { runtime, call, turn } = await start(story)
      await runtime
        .as(createScope({ user: 'ann' }))
        .conversation('mine')
        .deny(call, { reason: 'it is a secret' })
      await turn.outcome()
      for (const ref of [call.callId, { callId: call.callId, round: 1 }, { callId: call.callId, round: 2 }, call]) {
        await expect(answer(runtime, 'other', ref)).rejects.toMatchObject(notFound)
        await expect(answer(runtime, 'unheard-of', ref)).rejects.toMatchObject(notFound)
      }
      expect(await runtime.conversation('mine').approve(call)).toMatchObject({
        accepted: false,
        resolution: { status: 'denied', who: 'ann', value: { reason: 'it is a secret' } },
      })
    },
  )

  test('is not found either once a summary has put it away, though its own conversation still tells', async () => {
    const { runtime, store, call, turn, mine } = await start(story)
    await mine.deny(call)
    await turn.outcome()
    const events = await mine.events()
    const toSeq = events.at(-1)!.seq
    const base = baseOf(foldEvents(events))
    await runtime.conversation('mine').detach()
    await store.putSummary('mine', { fromSeq: 1, toSeq, content: 'They paid nothing.', version: 1, base })
    for (const [name, answer] of ways) {
      await expect(answer(runtime, 'other', call), name).rejects.toMatchObject(notFound)
      expect(await answer(runtime, 'mine', call), name).toMatchObject({
        accepted: false,
        resolution: { status: 'denied' },
      })
    }
  })

  test('is not found from a child, nor from a sibling of it; those above find it', async () => {
    const worker = defineAgent({ name: 'worker', model: asking(), tools: [pay] })
    const tool = childTool('delegate', worker)
    const { boss } = bossOf(
      [tool, pay],
      [
        { tool: 'delegate', args: { task: 'one' } },
        { tool: 'delegate', args: { task: 'two' } },
        { tool: 'pay', args: {} },
      ],
    )
    const runtime = story.start({ agents: [boss] }) as unknown as Runtime
    const chat = runtime.conversation('c1', { agent: 'boss' })
    const outcome = await (await chat.send('go')).outcome()
    if (outcome.status !== 'waiting') throw new Error('it should wait')
    const inChildren = outcome.pending.filter(({ conversationId }) => conversationId !== 'c1')
    const own = outcome.pending.find(({ conversationId }) => conversationId === 'c1')!
    const [first, second] = inChildren
    const refused = async () => {
      for (const [name, answer] of ways) {
        await expect(answer(runtime, second!.conversationId, first!), name).rejects.toMatchObject(notFound)
        await expect(answer(runtime, second!.conversationId, own), name).rejects.toMatchObject(notFound)
      }
    }
    await refused()
    expect(await chat.approve(first!)).toEqual({ accepted: true })
    expect(await chat.approve(own)).toEqual({ accepted: true })
    await refused()
    expect(await chat.deny(first!)).toMatchObject({ accepted: false, resolution: { status: 'resolved' } })
  })
})

overStores('a suspension of another session', (story) => {
  test('tells nothing of its answer', async () => {
    const flow = defineFlow({ name: 'order', version: 1, run: async (flow) => flow.suspend('who?') })
    const runtime = story.start({ agents: [], flows: [flow] })
    for (const id of ['s1', 's2']) await runtime.flow(flow, id).start(null)
    const [suspension] = await runtime.flow(flow, 's1').suspensions()
    await runtime.flow(flow, 's1').resume('ann')
    const { seq } = suspension!
    await expect(runtime.flow(flow, 's1').resume('bob', { seq })).rejects.toMatchObject({ winner: { value: 'ann' } })
    await expect(runtime.flow(flow, 's2').resume('bob', { seq: seq + 100 })).rejects.toMatchObject({ winner: null })
  })
})
