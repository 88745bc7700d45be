import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createScope, type Scope } from '../../src/define/scope.ts'
import { callIdOfChild } from '../../src/log/child-call.ts'
import type { NewEvent } from '../../src/log/events.ts'
import type { Conversation } from '../../src/runtime/conversation.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { checkHistory } from '../log/check-history.ts'
import { refund } from '../support/asking-tools.ts'
import { bossOf, childIdsOf, childTool } from './child-agents.ts'
import { dyingBefore } from './dying-before.ts'
import { gate } from './gate.ts'
import { mortalStore } from './mortal-store.ts'
import { overStores } from './over-stores.ts'
import { pacedModel } from './paced-model.ts'
import { recordedStore } from './recorded-store.ts'
import { linesOf } from './texts.ts'
import { toolResults } from './tool-results.ts'
import { until } from './until.ts'

const delegate = { tool: 'delegate', args: { task: 'x' } }

const isEndOfChild = ({ type, content }: NewEvent): boolean =>
  type === 'turn_ended' && content.turnId.startsWith('turn-')

overStores('child agents and processes', (story) => {
  test('a child that ends while no process has the agent that called it resolves the call, and that one goes on later', async () => {
    const paced = pacedModel()
    const child = defineAgent({ name: 'child', model: paced })
    const { boss, model } = bossOf([childTool('delegate', child)], [delegate])
    const data = story.openStore()
    const { store, kill } = mortalStore(data)
    const first = story.start({ agents: [boss], store, leaseMs: 200 })
    const { turnId } = await first.conversation('c1', { agent: 'boss' }).send('go')
    await paced.called(1)
    kill()

    const onlyChild = story.start({ agents: [child], store: story.reopen(data), leaseMs: 200, pollMs: 20 })
    const [childId] = await childIdsOf(onlyChild.conversation('c1') as Conversation)
    await paced.answer(2, 'ok')
    const isEnded = async () => (await data.streamEvents(childId!)).at(-1)?.type === 'turn_ended'
    await until(isEnded)
    await onlyChild.close()
    expect((await data.streamEvents('c1')).at(-1)).toMatchObject({
      type: 'resolution',
      content: { kind: 'sub_agent', value: { ok: true, result: 'ok' }, who: 'agent:child' },
    })

    const last = story.start({ agents: [boss], store: story.reopen(data), leaseMs: 200, pollMs: 20 })
    expect(await last.conversation('c1').turn(turnId).outcome()).toMatchObject({ status: 'completed', text: 'Done.' })
    expect(toolResults(model, 2)).toEqual([['delegate', { type: 'text', value: 'ok' }]])
    checkHistory(await data.streamEvents('c1'))
    checkHistory(await data.streamEvents(childId!))
  })

  test('a process that lost a child tells its parent nothing: the parent reads what the child log says', async () => {
    const paced = pacedModel()
    const [isCalled, mayFail] = [gate(), gate()]
    let calls = 0
    const doStream: typeof paced.doStream = async (options) => {
      calls += 1
      if (calls > 1) return paced.doStream(options)
      isCalled.open()
      await mayFail.opened
      throw new Error('the process that lost the child cannot reach its model')
    }
    const child = defineAgent({ name: 'child', model: { ...paced, doStream }, retry: false })
    const { boss, model } = bossOf([childTool('delegate', child)], [delegate])
    const data = story.openStore()
    const zombie = mortalStore(data)
    const first = story.start({ agents: [boss], store: zombie.store, leaseMs: 300, pollMs: 10_000 })
    const { turnId } = await first.conversation('c1', { agent: 'boss' }).send('go')
    await isCalled.opened
    zombie.freeze()
    zombie.deafen()

    const second = story.start({ agents: [boss], store: story.reopen(data), leaseMs: 2_000, pollMs: 20 })
    const current = await paced.called(1)
    mayFail.open()
    // Closing waits for what the process has under way: whatever it wanted to write, it has tried.
    await first.close()
    current.answer('ok')
    expect(await second.conversation('c1').turn(turnId).outcome()).toMatchObject({ status: 'completed' })
    expect(toolResults(model, 2)).toEqual([['delegate', { type: 'text', value: 'ok' }]])
    const [childId] = await childIdsOf({ events: () => data.streamEvents('c1') })
    expect(await second.conversation(childId!).outcome()).toMatchObject({ status: 'completed', text: 'ok' })
  })

  test('a child that is started by a process that has lost its parent, while that is being cancelled, ends too', async () => {
    const pay = { tool: 'refund', args: { cents: 5 } }
    const child = defineAgent({ name: 'child', model: scriptedModel(() => ({ calls: [pay] })), tools: [refund] })
    const { boss } = bossOf([childTool('delegate', child)], [delegate])
    const data = story.openStore()
    const zombie = mortalStore(data)
    const [isStarting, mayStart] = [gate(), gate()]
    const late = dyingBefore(
      zombie.store,
      ({ key }) => key?.startsWith('child/') === true,
      () => {
        isStarting.open()
        return mayStart.opened
      },
    )
    const first = story.start({ agents: [boss], store: late, leaseMs: 200, pollMs: 20 })
    const { turnId } = await first.conversation('c1', { agent: 'boss' }).send('go')
    await isStarting.opened
    zombie.freeze()
    zombie.deafen()
    const [childId] = await childIdsOf({ events: () => data.streamEvents('c1') })
    const front = story.start({ agents: [boss], store: story.reopen(data), work: false })
    const cancelling = front
      .as(createScope({ user: 'ann' }) as Scope)
      .conversation('c1')
      .cancel()
    await until(async () => (await data.streamEvents('c1')).at(-1)?.type === 'cancel_requested')

    const isRest = async (): Promise<boolean> =>
      /suspension|turn_ended/.test((await data.streamEvents(childId!)).at(-1)?.type ?? '')
    const ending = dyingBefore(
      story.reopen(data),
      ({ events }) => events.some(({ type, content }) => type === 'turn_ended' && content.turnId === turnId),
      () => {
        mayStart.open()
        return until(isRest)
      },
    )
    const second = story.start({ agents: [boss], store: ending, leaseMs: 2_000, pollMs: 20 })
    expect(await second.conversation('c1').turn(turnId).outcome()).toMatchObject({ status: 'cancelled' })
    await until(async () => (await data.streamEvents(childId!)).at(-1)?.type === 'turn_ended')
    const told = (await data.streamEvents(childId!)).filter(({ type }) => type !== 'user_msg')
    expect(told).toMatchObject([
      { type: 'cancel_requested', content: { who: 'ann' } },
      { type: 'turn_ended', content: { status: 'cancelled' } },
    ])
    await Promise.all([cancelling, first.close()])
  })

  test('a child that ended and whose process died before it told its parent tells it in the next process', async () => {
    const childModel = scriptedModel('ok')
    const child = defineAgent({ name: 'child', model: childModel })
    const { boss, model } = bossOf([childTool('delegate', child)], [delegate])
    const data = story.openStore()
    const mortal = mortalStore(data)
    const isDead = gate()
    const store = dyingBefore(
      mortal.store,
      ({ events }) => events.some(({ type }) => type === 'resolution'),
      () => {
        mortal.kill()
        isDead.open()
      },
    )
    const first = story.start({ agents: [boss], store, leaseMs: 200 })
    const { turnId } = await first.conversation('c1', { agent: 'boss' }).send('go')
    await isDead.opened
    const [childId] = await childIdsOf({ events: () => data.streamEvents('c1') })
    expect((await data.streamEvents(childId!)).at(-1)?.type).toBe('turn_ended')

    const second = story.start({ agents: [boss], store: story.reopen(data), leaseMs: 200, pollMs: 20 })
    expect(await second.conversation('c1').turn(turnId).outcome()).toMatchObject({ status: 'completed' })
    expect(toolResults(model, 2)).toEqual([['delegate', { type: 'text', value: 'ok' }]])
    expect(childModel.calls).toHaveLength(1)
    const ends = (await data.streamEvents('c1')).filter(({ type }) => type === 'resolution')
    expect(ends).toHaveLength(1)
    // Once the parent knows, the child is at rest.
    await until(async () => (await data.dueWork({ agents: ['boss', 'child'], limit: 10 })).length === 0)
  })

  test('a child of an earlier version that told its parent and died before it recorded its end ends as it told', async () => {
    const childModel = scriptedModel('ok')
    const child = defineAgent({ name: 'child', model: childModel })
    const { boss } = bossOf([childTool('delegate', child)], [delegate])
    const data = story.openStore()
    const mortal = mortalStore(data)
    const isDead = gate()
    const store = dyingBefore(
      mortal.store,
      ({ events }) => events.some(isEndOfChild),
      async (id, change) => {
        // As that version did it: the message first, then the parent, and its own end last.
        const callId = callIdOfChild(id)!
        const events = change.events.filter((event) => !isEndOfChild(event))
        await data.commit(id, { events, epoch: change.epoch! })
        await data.resolveToolCall(callId, 'resolved', { ok: true, result: 'ok' })
        mortal.kill()
        isDead.open()
      },
    )
    const first = story.start({ agents: [boss], store, leaseMs: 200 })
    const { turnId } = await first.conversation('c1', { agent: 'boss' }).send('go')
    await isDead.opened
    const [childId] = await childIdsOf({ events: () => data.streamEvents('c1') })
    expect((await data.streamEvents(childId!)).at(-1)?.type).toBe('assistant_msg')

    const second = story.start({ agents: [boss], store: story.reopen(data), leaseMs: 200, pollMs: 20 })
    expect(await second.conversation('c1').turn(turnId).outcome()).toMatchObject({ status: 'completed' })
    expect(await second.conversation(childId!).outcome()).toMatchObject({ status: 'completed', text: 'ok' })
    expect(childModel.calls).toHaveLength(1)
    const ends = (await data.streamEvents('c1')).filter(({ type }) => type === 'resolution')
    expect(ends).toHaveLength(1)
  })

  test('an agent that waits for its child costs a row: no process holds it', async () => {
    const paced = pacedModel()
    const child = defineAgent({ name: 'child', model: paced })
    const { boss } = bossOf([childTool('delegate', child)], [delegate])
    const runtime = story.start({ agents: [boss] })
    const turn = await runtime.conversation('c1', { agent: 'boss' }).send('go')
    await paced.called(1)
    const lease = await until(() => runtime.store.acquireLease('c1', 'somebody', 60_000))
    expect(await runtime.store.dueWork({ agents: ['boss', 'child'], limit: 10 })).toEqual([])
    await runtime.store.releaseLease('c1', lease.epoch)
    await paced.answer(1, 'ok')
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
  })

  test('a child is started once, however often its parent is taken up again', async () => {
    const paced = pacedModel()
    const child = defineAgent({ name: 'child', model: paced })
    const { boss } = bossOf([childTool('delegate', child)], [delegate])
    const { store, commits } = recordedStore(story.openStore())
    const runtime = story.start({ agents: [boss], store, pollMs: 20 })
    const chat = runtime.conversation('c1', { agent: 'boss' })
    const turn = await chat.send('go')
    await paced.called(1)
    for (let times = 0; times < 5; times++) {
      await chat.continue()
      await until(async () => (await store.dueWork({ agents: ['boss'], limit: 1 })).length === 0)
    }
    await paced.answer(1, 'ok')
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    const sent = commits.flatMap(({ events }) => events).filter(({ type }) => type === 'user_msg')
    expect(sent).toHaveLength(2)
    expect(paced.calls).toHaveLength(1)
  })

  test('another process restores who acts in a child from the stored id', async () => {
    const users: unknown[] = []
    const paced = pacedModel()
    const instructions = (turn: { scope: object }) => {
      users.push(turn.scope)
      return ''
    }
    const child = defineAgent({ name: 'child', model: paced, instructions })
    const { boss } = bossOf([childTool('delegate', child)], [delegate])
    const data = story.openStore()
    const { store, kill } = mortalStore(data)
    const restoreScope = (tenant: string, user: string) => createScope({ tenant, user, assigns: { plan: 'restored' } })
    const first = story.start({ agents: [boss], store, restoreScope, leaseMs: 200 })
    const turn = await first
      .as(createScope({ user: 'ann', assigns: { plan: 'pro' } }))
      .conversation('c1', { agent: 'boss' })
      .send('go')
    await paced.called(1)
    kill()
    const second = story.start({ agents: [boss], store: story.reopen(data), restoreScope, leaseMs: 200, pollMs: 20 })
    await paced.answer(2, 'ok')
    expect(await second.conversation('c1').turn(turn.turnId).outcome()).toMatchObject({ status: 'completed' })
    expect(users).toMatchObject([
      { user: 'ann', assigns: { plan: 'restored' } },
      { user: 'ann', assigns: { plan: 'restored' } },
    ])
  })

  test('a tool that a deploy took away, or made into another, ends its call with an error', async () => {
    const child = defineAgent({ name: 'child', model: scriptedModel('ok') })
    const { boss } = bossOf([childTool('delegate', child, { approval: 'required' })], [delegate])
    const store = story.openStore()
    const first = story.start({ agents: [boss], store })
    const turn = await first.conversation('c1', { agent: 'boss' }).send('go')
    const waiting = await turn.outcome()
    await first.close()
    const { boss: changed, model } = bossOf([], [])
    const second = story.start({ agents: [changed], store: story.reopen(store), missingToolMs: 0 })
    if (waiting.status !== 'waiting') throw new Error(`expected to wait, but ${waiting.status}`)
    await second.conversation('c1').approve(waiting.pending[0]!)
    expect(await second.conversation('c1').turn(turn.turnId).outcome()).toMatchObject({ status: 'completed' })
    const error = "The tool 'delegate' is no longer there. No agent was started."
    expect(toolResults(model, 1)).toEqual([['delegate', { type: 'error-text', value: error }]])
  })

  test('a child whose agent a deploy took away stays visible, takes answers, and goes on where there is the agent', async () => {
    const ask = defineTool({
      ...{ name: 'ask', description: 'Ask', input: z.object({}) },
      ...{ executor: 'human', output: z.string() },
    })
    const model = scriptedModel(({ prompt }) =>
      prompt.some(({ role }) => role === 'tool') ? 'Thanks.' : { calls: [{ tool: 'ask', args: {} }] },
    )
    const child = defineAgent({ name: 'child', model, tools: [ask] })
    const { boss } = bossOf([childTool('delegate', child)], [delegate])
    const store = story.openStore()
    const before = story.start({ agents: [boss], store })
    const turn = await before.conversation('c1', { agent: 'boss' }).send('go')
    const waiting = await turn.outcome()
    if (waiting.status !== 'waiting') throw new Error(`expected to wait, but ${waiting.status}`)
    await before.close()

    const { boss: changed } = bossOf([], [])
    const without = story.start({ agents: [changed], store: story.reopen(store), pollMs: 20 })
    expect(await without.inbox()).toMatchObject([
      { agent: 'child', agentMissing: true, path: waiting.pending[0]!.path },
    ])
    const there = without.conversation('c1')
    expect(await there.turn(turn.turnId).outcome()).toMatchObject({ status: 'waiting', pending: waiting.pending })
    expect(await there.answer(waiting.pending[0]!, 'yes')).toEqual({ accepted: true })
    expect(await there.view()).toMatchObject({ phase: 'running', pending: [] })
    expect(model.calls).toHaveLength(1)

    const after = story.start({ agents: [boss], store: story.reopen(store), pollMs: 20 })
    expect(await after.conversation('c1').turn(turn.turnId).outcome()).toMatchObject({ status: 'completed' })
    expect(model.calls).toHaveLength(2)
  })

  test('several children work at the same time, and each ends its own call', async () => {
    const paced = pacedModel()
    const child = defineAgent({ name: 'child', model: paced })
    const calls = ['one', 'two', 'three'].map((task) => ({ tool: 'delegate', args: { task } }))
    const { boss, model } = bossOf([childTool('delegate', child)], calls)
    const runtime = story.start({ agents: [boss] })
    const turn = await runtime.conversation('c1', { agent: 'boss' }).send('go')
    // None has ended before the last has begun.
    const begun = await Promise.all([1, 2, 3].map((n) => paced.called(n)))
    for (const call of begun.toReversed()) {
      call.answer(`${linesOf(call.prompt).at(-1)}`.replace('user: ', 'done: '))
    }
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    const value = (task: string) => ['delegate', { type: 'text', value: `done: ${task}` }]
    expect(toolResults(model, 2)).toEqual(['one', 'two', 'three'].map(value))
  })

  test('a fork of an agent whose child runs goes on without it, and leaves it to the original', async () => {
    const paced = pacedModel()
    const child = defineAgent({ name: 'child', model: paced })
    const { boss, model } = bossOf([childTool('delegate', child)], [delegate])
    const runtime = story.start({ agents: [boss] })
    const chat = runtime.conversation('c1', { agent: 'boss' })
    const turn = await chat.send('go')
    const call = await paced.called(1)
    const fork = await chat.fork({ id: 'f1' })
    await fork.continue()
    expect(await fork.outcome()).toMatchObject({ status: 'completed', text: 'Done.' })
    const [[, told]] = toolResults(model, 2) as [[string, { type: string }]]
    expect(told.type).toBe('error-text')
    expect(await fork.delete()).toBe(true)
    expect(call.signal?.aborted).toBe(false)
    await paced.answer(1, 'ok')
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(toolResults(model, 3)).toEqual([['delegate', { type: 'text', value: 'ok' }]])
    expect(paced.calls).toHaveLength(1)
  })

  test('agents that tools refer to need not be listed, and two of one name are refused', async () => {
    const model = scriptedModel('ok')
    const child = defineAgent({ name: 'child', model })
    const { boss } = bossOf([childTool('delegate', child)], [delegate])
    const runtime = story.start({ agents: [boss, child] })
    expect(await (await runtime.conversation('c1', { agent: 'child' }).send('hi')).outcome()).toMatchObject({
      text: 'ok',
    })
    const impostor = defineAgent({ name: 'child', model })
    expect(() => story.start({ agents: [boss, impostor] })).toThrow("two agents are named 'child'")
  })
})
