import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createScope } from '../../src/define/scope.ts'
import { childIdOf } from '../../src/log/child-call.ts'
import { untilState } from '../../src/testing/fake-clock.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { projectView } from '../../src/view/growing-view.ts'
import type { View } from '../../src/view/view.ts'
import { bossOf, childTool } from './child-agents.ts'
import { overStores, type StoryContext } from './over-stores.ts'
import { pacedModel } from './paced-model.ts'
import { onlyPendingOf, pendingOf } from './pending-of.ts'
import { toolResults } from './tool-results.ts'
import { until } from './until.ts'

/** A child that pays after an approval. */
function payer() {
  const runs: (string | undefined)[] = []
  const pay = defineTool({
    name: 'pay',
    description: 'Pay',
    input: z.object({ cents: z.number() }),
    approval: 'required',
    run: ({ cents }, turn) => {
      runs.push(turn.approval?.who)
      return { paid: cents }
    },
  })
  const model = scriptedModel(({ prompt }) =>
    prompt.some((message) => message.role === 'tool') ? 'Paid.' : { calls: [{ tool: 'pay', args: { cents: 5 } }] },
  )
  return { agent: defineAgent({ name: 'payer', model, tools: [pay] }), runs, model }
}

function start(story: StoryContext) {
  const { agent, runs } = payer()
  const { boss, model } = bossOf([childTool('delegate', agent)], [{ tool: 'delegate', args: { task: 'pay' } }])
  const runtime = story.start({ agents: [boss] })
  const chat = runtime.as(createScope({ user: 'ann' })).conversation('c1', { agent: 'boss' })
  return { runtime, chat, runs, model }
}

overStores('a child agent that waits for an answer', (story) => {
  test('makes its parent wait, with its call and the path to it', async () => {
    const { chat } = start(story)
    const call = await onlyPendingOf(await chat.send('go'))
    const [above] = call.path
    expect(call).toMatchObject({ tool: 'pay', kind: 'approval', round: 1, args: { cents: 5 } })
    expect(call.conversationId).toBe(childIdOf(above!.callId))
    expect(call.path).toEqual([
      { conversationId: 'c1', callId: expect.any(String) },
      { conversationId: call.conversationId, callId: call.callId },
    ])
  })

  test('shows in the view of its parent until it is answered', async () => {
    const { chat } = start(story)
    const turn = await chat.send('go')
    const call = await onlyPendingOf(turn)
    expect(await chat.view()).toMatchObject({ phase: 'waiting', pending: [call] })
    await chat.approve(call)
    await turn.outcome()
    expect(await chat.view()).toMatchObject({ phase: 'idle', pending: [], children: { waiting: [], pending: [] } })
  })

  test('is told to those who watch, when it begins and when it ceases to wait', async () => {
    const { chat } = start(story)
    const seen: [View['phase'], string[]][] = []
    const watching = (async () => {
      let view: View | null = null
      for await (const event of chat.watch()) {
        view = event.type === 'snapshot' ? event.view : projectView(view!, event)
        const now: (typeof seen)[number] = [view.phase, view.pending.map(({ tool }) => tool)]
        if (JSON.stringify(now) !== JSON.stringify(seen.at(-1))) seen.push(now)
        if (event.type === 'turn_completed') return
      }
    })()
    const turn = await chat.send('go')
    await chat.approve(await onlyPendingOf(turn))
    await watching
    expect(seen).toEqual([
      ['idle', []],
      ['running', []],
      ['waiting', ['pay']],
      ['running', []],
      ['idle', []],
    ])
  })

  test('is answered on the handle of its parent; its tool is told who approved', async () => {
    const { runtime, chat, runs, model } = start(story)
    const turn = await chat.send('go')
    const call = await onlyPendingOf(turn)
    const bob = runtime.as(createScope({ user: 'bob' })).conversation('c1')
    expect(await bob.approve(call)).toEqual({ accepted: true })
    expect(await bob.deny(call)).toMatchObject({ accepted: false, resolution: { value: true, who: 'bob' } })
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(runs).toEqual(['bob'])
    expect(toolResults(model, 2)).toEqual([['delegate', { type: 'text', value: 'Paid.' }]])
  })

  test('is answered by the id of its call, of its own conversation, and from anywhere', async () => {
    const ways = [
      ({ chat }: ReturnType<typeof start>, call: { callId: string }) => chat.approve(call.callId),
      ({ runtime }: ReturnType<typeof start>, call: { callId: string }) => runtime.resolve('c1', call.callId, true),
      ({ runtime }: ReturnType<typeof start>, call: { conversationId: string }) =>
        runtime.resolve(call.conversationId, call as never, true),
      ({ runtime }: ReturnType<typeof start>, call: { conversationId: string }) =>
        runtime.conversation(call.conversationId).approve(call as never),
    ]
    for (const answer of ways) {
      const started = start(story)
      const turn = await started.chat.send('go')
      expect(await answer(started, await onlyPendingOf(turn))).toEqual({ accepted: true })
      expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    }
  })

  test('is answered over every conversation above it, however deep it is', async () => {
    for (const above of [0, 1, 2]) {
      const { agent, runs } = payer()
      const { boss: middle } = bossOf([childTool('delegate', agent)], [{ tool: 'delegate', args: { task: 'pay' } }], {
        name: 'middle',
      })
      const { boss } = bossOf([childTool('pass_on', middle)], [{ tool: 'pass_on', args: { task: 'pay' } }])
      const runtime = story.start({ agents: [boss] })
      const turn = await runtime.conversation('c1', { agent: 'boss' }).send('go')
      const call = await onlyPendingOf(turn)
      expect(call.path.map(({ conversationId }) => conversationId)).toEqual([
        'c1',
        childIdOf(call.path[0]!.callId),
        childIdOf(call.path[1]!.callId),
      ])
      expect((await runtime.inbox())[0]!.path).toEqual(call.path)
      expect(await runtime.conversation('c1').view()).toMatchObject({ phase: 'waiting', pending: [call] })
      const bob = runtime.as(createScope({ user: 'bob' })).conversation(call.path[above]!.conversationId)
      expect(await bob.approve(call)).toEqual({ accepted: true })
      expect(await turn.outcome()).toMatchObject({ status: 'completed' })
      expect(runs).toEqual(['bob'])
    }
  })

  test('is not reached over a conversation that has nothing to do with it', async () => {
    const { runtime, chat } = start(story)
    const call = await onlyPendingOf(await chat.send('go'))
    const stranger = runtime.conversation('c2', { agent: 'boss' })
    await expect(stranger.approve(call)).rejects.toMatchObject({ code: 'call_not_found' })
    await expect(runtime.resolve('c2', call, true)).rejects.toMatchObject({ code: 'call_not_found' })
    const other = runtime.as(createScope({ user: 'eve', tenant: 'other' }))
    await expect(other.conversation('c1').approve(call)).rejects.toMatchObject({ code: 'call_not_found' })
    await expect(other.resolve(call.conversationId, call, true)).rejects.toMatchObject({ code: 'call_not_found' })
  })

  test('is in the inbox with its path; the call that waits for it is not', async () => {
    const { runtime, chat } = start(story)
    const call = await onlyPendingOf(await chat.send('go'))
    const inbox = await runtime.inbox()
    expect(inbox).toMatchObject([{ callId: call.callId, kind: 'approval', agent: 'payer', agentMissing: false }])
    expect(inbox[0]!.path).toEqual(call.path)
  })

  test('leaves pages of the inbox full', async () => {
    const { runtime } = start(story)
    const calls = []
    for (const id of ['c1', 'c2', 'c3', 'c4']) {
      calls.push(await onlyPendingOf(await runtime.conversation(id, { agent: 'boss' }).send('go')))
    }
    const first = await runtime.inbox({ limit: 3 })
    const rest = await runtime.inbox({ limit: 3, before: first.at(-1)!.callId })
    expect([first.length, rest.length]).toEqual([3, 1])
    expect([...first, ...rest].map(({ callId }) => callId).toSorted()).toEqual(
      calls.map(({ callId }) => callId).toSorted(),
    )
    await expect(runtime.inbox({ limit: 0 })).rejects.toMatchObject({ code: 'invalid_argument' })
  })

  test('is not waited for while another child runs', async () => {
    const paced = pacedModel()
    const slow = defineAgent({ name: 'slow', model: paced })
    const { agent } = payer()
    const { boss } = bossOf(
      [childTool('delegate', agent), childTool('think', slow)],
      [
        { tool: 'delegate', args: { task: 'pay' } },
        { tool: 'think', args: { task: 'hard' } },
      ],
    )
    const runtime = story.start({ agents: [boss] })
    const chat = runtime.conversation('c1', { agent: 'boss' })
    const turn = await chat.send('go')
    const call = await until(async () => (await chat.view()).pending[0])
    expect(await chat.view()).toMatchObject({ phase: 'running', pending: [{ tool: 'pay' }] })
    let isSettled = false
    const outcome = pendingOf(turn).then((pending) => {
      isSettled = true
      return pending
    })
    await paced.called(1)
    expect(isSettled).toBe(false)
    await paced.answer(1, 'thought')
    expect(await outcome).toEqual([call])
    await chat.approve(call)
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
  })

  test('ends the text stream of its parent', async () => {
    const { chat } = start(story)
    const turn = await chat.send('go')
    const texts: string[] = []
    for await (const text of turn.textStream) texts.push(text)
    expect(await onlyPendingOf(turn)).toMatchObject({ tool: 'pay' })
    await chat.approve(await onlyPendingOf(turn))
    for await (const text of turn.textStream) texts.push(text)
    expect(texts).toEqual(['Done.'])
  })

  test('is seen by a process that runs nothing, too', async () => {
    const { agent } = payer()
    const { boss } = bossOf([childTool('delegate', agent)], [{ tool: 'delegate', args: { task: 'pay' } }])
    const store = story.openStore()
    const here = story.start({ agents: [boss], store })
    const there = story.start({ agents: [boss], store: story.reopen(store), work: false, pollMs: 50 })
    const turn = await there.conversation('c1', { agent: 'boss' }).send('go')
    const view = await untilState(there.conversation('c1'), 'waiting')
    expect(view.pending).toMatchObject([{ tool: 'pay' }])
    expect(await there.conversation('c1').approve(await onlyPendingOf(turn))).toEqual({ accepted: true })
    expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'Done.' })
    expect(await here.conversation('c1').view()).toMatchObject({ phase: 'idle' })
  })
})
