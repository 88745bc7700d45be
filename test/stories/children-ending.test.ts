import { expect, test } from 'vitest'
import { z } from 'zod'
import { StoreError } from '../../src/base/errors/store-errors.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createScope } from '../../src/define/scope.ts'
import { childIdOf, childTurnIdOf } from '../../src/log/child-call.ts'
import type { Conversation } from '../../src/runtime/conversation.ts'
import type { Change } from '../../src/store/change.ts'
import type { Store, TenantStore } from '../../src/store/store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { checkHistory } from '../log/check-history.ts'
import { bossOf, childIdsOf, childTool } from './child-agents.ts'
import { gate } from './gate.ts'
import { overStores } from './over-stores.ts'
import { pacedModel } from './paced-model.ts'
import { onlyPendingOf } from './pending-of.ts'
import { recordedStore } from './recorded-store.ts'
import { shapeOf } from './texts.ts'
import { toolResults } from './tool-results.ts'
import { until } from './until.ts'

const ask = defineTool({ name: 'ask', description: 'Ask', input: z.object({}), executor: 'human', output: z.string() })
const asking = () =>
  defineAgent({ name: 'asking', model: scriptedModel({ calls: [{ tool: 'ask', args: {} }] }), tools: [ask] })
const askTwice = [
  { tool: 'delegate', args: { task: 'one' } },
  { tool: 'delegate', args: { task: 'two' } },
]

/** A child with a tool that does not return before it may. */
function working() {
  const begun = gate()
  const mayReturn = gate()
  const signals: AbortSignal[] = []
  const work = defineTool({
    ...{ name: 'work', description: 'Work', input: z.object({}) },
    run: async (_, turn) => {
      signals.push(turn.signal)
      begun.open()
      await mayReturn.opened
      return 'worked'
    },
  })
  const model = scriptedModel(({ prompt }) =>
    prompt.some(({ role }) => role === 'tool') ? 'ok' : { calls: [{ tool: 'work', args: {} }] },
  )
  return { agent: defineAgent({ name: 'working', model, tools: [work] }), begun, signals, mayReturn }
}

/** The same store, which fails some commits to children. */
function failingFor(data: Store, isFailing: (change: Change) => boolean): Store {
  const wrap = <T extends Store | TenantStore>(target: T): T =>
    new Proxy(target, {
      get(object, name) {
        const member: unknown = Reflect.get(object, name)
        if (name === 'forTenant') return (tenant: string) => wrap(data.forTenant(tenant))
        if (name !== 'commit' || typeof member !== 'function') return member
        return async (id: string, change: Change) => {
          if (id.startsWith('child-') && isFailing(change)) throw new StoreError('the connection was lost')
          return member.call(object, id, change)
        }
      },
    })
  return wrap(data)
}

overStores('cancelling an agent that has called others', (story) => {
  test('ends its children first, those that run and those that wait', async () => {
    const paced = pacedModel()
    const slow = defineAgent({ name: 'slow', model: paced })
    const { boss } = bossOf(
      [childTool('think', slow), childTool('delegate', asking())],
      [{ tool: 'think', args: { task: 'hard' } }, askTwice[0]!],
    )
    const { store, commits } = recordedStore(story.openStore())
    const runtime = story.start({ agents: [boss], store })
    const chat = runtime.as(createScope({ user: 'ann' })).conversation('c1', { agent: 'boss' })
    await chat.send('go')
    const call = await paced.called(1)
    call.say('well')
    await until(async () => (await chat.view()).pending.length === 1)
    expect(await chat.cancel()).toMatchObject({ status: 'cancelled' })
    expect(call.signal?.aborted).toBe(true)

    const ids = await childIdsOf(chat as Conversation)
    const ends = await until(async () => {
      const logs = await Promise.all(ids.map((id) => runtime.conversation(id).events()))
      return logs.every((log) => log.at(-1)?.type === 'turn_ended') && logs
    })
    for (const log of [await chat.events(), ...ends]) {
      checkHistory(log)
      expect(log.at(-1)?.content).toMatchObject({ status: 'cancelled' })
      expect(log.find((event) => event.type === 'cancel_requested')?.content).toMatchObject({ who: 'ann' })
    }
    const types = commits.flatMap(({ events }) => events)
    const endOfParent = types.findIndex(
      ({ type, content }) => type === 'turn_ended' && !ids.some((id) => `turn-${id.slice(6)}` === content.turnId),
    )
    const cancels = types.slice(0, endOfParent).filter(({ type }) => type === 'cancel_requested')
    expect(cancels).toHaveLength(3)
  })

  test('reads as the end of their calls', async () => {
    const { boss } = bossOf([childTool('delegate', asking())], [askTwice[0]!])
    const runtime = story.start({ agents: [boss] })
    const chat = runtime.conversation('c1', { agent: 'boss' })
    await onlyPendingOf(await chat.send('go'))
    await chat.cancel()
    const ended = (await chat.events()).filter((event) => event.type === 'resolution')
    expect(ended).toMatchObject([
      { content: { kind: 'sub_agent', value: { ok: false, error: "the agent 'asking' was cancelled" } } },
    ])
  })

  test('reaches a child of a child', async () => {
    const { boss: middle } = bossOf([childTool('delegate', asking())], [askTwice[0]!], { name: 'middle' })
    const { boss } = bossOf([childTool('pass_on', middle)], [{ tool: 'pass_on', args: { task: 'one' } }])
    const runtime = story.start({ agents: [boss] })
    const chat = runtime.conversation('c1', { agent: 'boss' })
    const call = await onlyPendingOf(await chat.send('go'))
    expect(call.path).toHaveLength(3)
    await chat.cancel()
    for (const { conversationId } of call.path) {
      const endOf = async () => (await runtime.conversation(conversationId).events({ limit: 1 }))[0]
      await until(async () => (await endOf())?.type === 'turn_ended')
      expect((await endOf())?.content).toMatchObject({ status: 'cancelled' })
      checkHistory(await runtime.conversation(conversationId).events())
    }
  })

  test('comes with a message that interrupts it', async () => {
    const { boss } = bossOf([childTool('delegate', asking())], [askTwice[0]!])
    const runtime = story.start({ agents: [boss] })
    const chat = runtime.conversation('c1', { agent: 'boss' })
    const call = await onlyPendingOf(await chat.send('go'))
    const next = await chat.send('never mind', { whenBusy: 'interrupt' })
    expect(await next.outcome()).toMatchObject({ status: 'completed', text: 'Done.' })
    const child = runtime.conversation(call.conversationId)
    await until(async () => (await child.events()).at(-1)?.type === 'turn_ended')
    expect(await child.outcome()).toMatchObject({ status: 'cancelled' })
    checkHistory(await chat.events())
  })

  test('goes through where only one conversation is worked on at a time', async () => {
    const { boss } = bossOf([childTool('delegate', asking())], askTwice)
    const runtime = story.start({ agents: [boss], maxConcurrentTurns: 1 })
    const chat = runtime.conversation('c1', { agent: 'boss' })
    const turn = await chat.send('go')
    expect(await turn.outcome()).toMatchObject({ status: 'waiting' })
    expect(await chat.cancel()).toMatchObject({ status: 'cancelled' })
    const resolutions = (await chat.events()).filter((event) => event.type === 'resolution')
    expect(resolutions.map(({ content }) => content.status)).toEqual(['resolved', 'resolved'])
  })

  test('does not wait for a child that was never started', async () => {
    const isTried = gate()
    const store = failingFor(story.openStore(), () => {
      isTried.open()
      return true
    })
    const { boss } = bossOf([childTool('delegate', asking())], [askTwice[0]!])
    // So long a lease that the story would not be told in time if it were waited for.
    const runtime = story.start({ agents: [boss], store, leaseMs: 120_000 })
    const chat = runtime.conversation('c1', { agent: 'boss' })
    await chat.send('go')
    await isTried.opened
    expect(await chat.cancel()).toMatchObject({ status: 'cancelled' })
    expect(shapeOf(await chat.events()).slice(-2)).toEqual(['resolution cancelled', 'turn_ended cancelled'])
    expect(await runtime.conversations({ agent: 'asking' })).toEqual([])
  })

  test('asks them before it ends, also when that fails for longer than they are waited for', async () => {
    const { boss } = bossOf([childTool('delegate', asking())], askTwice)
    let failures = 0
    const store = failingFor(story.openStore(), ({ events }) => {
      return events.some(({ type }) => type === 'cancel_requested') && ++failures <= 4
    })
    const runtime = story.start({ agents: [boss], store, leaseMs: 100, pollMs: 20 })
    const chat = runtime.conversation('c1', { agent: 'boss' })
    expect(await (await chat.send('go')).outcome()).toMatchObject({ status: 'waiting' })
    expect(await chat.cancel()).toMatchObject({ status: 'cancelled' })
    for (const id of await childIdsOf(chat as Conversation)) {
      await until(async () => (await runtime.conversation(id).events()).at(-1)?.type === 'turn_ended')
      expect(shapeOf(await runtime.conversation(id).events())).toContain('cancel_requested')
    }
    expect(failures).toBeGreaterThan(4)
    expect(await runtime.inbox()).toEqual([])
  })

  test('aborts what a child has under way, in another process, too', async () => {
    const { agent, begun, signals, mayReturn } = working()
    const { boss: middle } = bossOf([childTool('delegate', agent)], [askTwice[0]!], { name: 'middle' })
    const { boss } = bossOf([childTool('pass_on', middle)], [{ tool: 'pass_on', args: { task: 'one' } }])
    const store = story.openStore()
    const works = story.start({ agents: [boss], store, leaseMs: 1_000, pollMs: 20 })
    const asks = story.start({ agents: [boss], store: story.reopen(store), work: false, pollMs: 20 })
    const chat = asks.conversation('c1', { agent: 'boss' })
    await chat.send('go')
    await begun.opened
    expect(await chat.cancel()).toMatchObject({ status: 'cancelled' })
    expect(signals.map(({ aborted }) => aborted)).toEqual([true])
    mayReturn.open()
    const all = await until(async () => {
      const logs = await Promise.all((await works.conversations()).map(({ id }) => works.conversation(id).events()))
      return logs.every((log) => log.at(-1)?.type === 'turn_ended') && logs
    })
    expect(all).toHaveLength(3)
    for (const log of all) {
      checkHistory(log)
      expect(log.at(-1)?.content).toMatchObject({ status: 'cancelled' })
    }
    expect(shapeOf(all.find((log) => log.some(({ type }) => type === 'tool_started'))!)).toContain('tool_result')
  })

  test('does not wait long for children without a worker, and they end when there is one', async () => {
    const { boss } = bossOf([childTool('delegate', asking())], [askTwice[0]!])
    const store = story.openStore()
    const first = story.start({ agents: [boss], store })
    const turn = await first.conversation('c1', { agent: 'boss' }).send('go')
    const call = await onlyPendingOf(turn)
    await first.close()
    // A node that has only the boss: its tool starts another agent now.
    const other = defineAgent({ name: 'other', model: scriptedModel('x') })
    const { boss: changed } = bossOf([childTool('delegate', other)], [])
    const second = story.start({ agents: [changed], store: story.reopen(store), leaseMs: 300 })
    expect(await second.conversation('c1').cancel()).toMatchObject({ status: 'cancelled' })
    expect(shapeOf(await second.conversation('c1').events()).slice(-2)).toEqual([
      'resolution cancelled',
      'turn_ended cancelled',
    ])
    const third = story.start({ agents: [boss], store: story.reopen(store), pollMs: 20 })
    const child = third.conversation(call.conversationId)
    await until(async () => (await child.events()).at(-1)?.type === 'turn_ended')
    checkHistory(await child.events())
  })
})

overStores('an agent whose child ends otherwise', (story) => {
  test('continues when the child is deleted', async () => {
    const { boss, model } = bossOf([childTool('delegate', asking())], [askTwice[0]!])
    const runtime = story.start({ agents: [boss] })
    const chat = runtime.conversation('c1', { agent: 'boss' })
    const turn = await chat.send('go')
    const call = await onlyPendingOf(turn)
    expect(await runtime.conversation(call.conversationId).delete()).toBe(true)
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(toolResults(model, 2)).toEqual([
      ['delegate', { type: 'error-text', value: 'the conversation of the agent was deleted' }],
    ])
    expect(await runtime.store.getConversation(call.conversationId)).toBeNull()
  })

  test('gets one result, and a child that has ended is not talked to', async () => {
    const child = defineAgent({ name: 'child', model: scriptedModel(['one', 'two']) })
    const { boss } = bossOf([childTool('delegate', child)], [askTwice[0]!])
    const runtime = story.start({ agents: [boss] })
    const chat = runtime.conversation('c1', { agent: 'boss' })
    await (await chat.send('go')).outcome()
    const before = await chat.events()
    const [childId] = await childIdsOf(chat as Conversation)
    const talk = runtime.conversation(childId!)
    await talk.outcome()
    await expect(talk.send('and?')).rejects.toMatchObject({ code: 'child_conversation', parent: 'c1' })
    expect(await chat.events()).toEqual(before)
  })
})

overStores('deleting an agent that has called others', (story) => {
  test('deletes them too, with theirs, whether they have ended or not', async () => {
    const done = defineAgent({ name: 'done', model: scriptedModel('ok') })
    const { boss } = bossOf(
      [childTool('delegate', asking()), childTool('finish', done)],
      [askTwice[0]!, { tool: 'finish', args: { task: 'x' } }],
    )
    const runtime = story.start({ agents: [boss] })
    const chat = runtime.conversation('c1', { agent: 'boss' })
    const call = await onlyPendingOf(await chat.send('go'))
    const ids = await childIdsOf(chat as Conversation)
    expect(ids).toHaveLength(2)
    const fork = await chat.fork({ id: 'f1' })
    expect(await chat.delete()).toBe(true)
    for (const id of ['c1', ...ids]) expect(await runtime.store.getConversation(id)).toBeNull()
    expect(await runtime.inbox()).toEqual([])
    expect(await runtime.store.getToolCall(call.callId)).toBeNull()
    // A fork is not a child: its call was closed when it was made.
    expect(shapeOf(await fork.events()).at(-1)).toBe('tool_result')
  })

  test('stops what they have under way, in another process and over all levels, and nothing comes back', async () => {
    const { agent, begun, signals, mayReturn } = working()
    const { boss: middle } = bossOf([childTool('delegate', agent)], [askTwice[0]!], { name: 'middle' })
    const { boss } = bossOf([childTool('pass_on', middle)], [{ tool: 'pass_on', args: { task: 'one' } }])
    const store = story.openStore()
    story.start({ agents: [boss, agent], store, leaseMs: 300, pollMs: 20 })
    const asks = story.start({ agents: [boss, agent], store: story.reopen(store), work: false, pollMs: 20 })
    const chat = asks.conversation('c1', { agent: 'boss' })
    await chat.send('go')
    await begun.opened
    expect(await asks.conversations()).toHaveLength(3)
    expect(await chat.delete()).toBe(true)
    expect(await asks.conversations()).toEqual([])
    await until(() => signals.every(({ aborted }) => aborted))
    mayReturn.open()
    await asks.conversation('c2', { agent: 'working' }).send('a sign that it goes on')
    await until(async () => signals.length === 2 && (await asks.conversation('c2').view()).phase === 'idle')
    expect((await asks.conversations()).map(({ id }) => id)).toEqual(['c2'])
  })

  test('stops at once what they have under way in this process', async () => {
    const { agent, begun, signals, mayReturn } = working()
    const { boss } = bossOf([childTool('delegate', agent)], [askTwice[0]!])
    const runtime = story.start({ agents: [boss] })
    const chat = runtime.conversation('c1', { agent: 'boss' })
    await chat.send('go')
    await begun.opened
    expect(await chat.delete()).toBe(true)
    expect(signals.map(({ aborted }) => aborted)).toEqual([true])
    mayReturn.open()
  })

  test('leaves no child behind that was just being started', async () => {
    const child = defineAgent({ name: 'child', model: scriptedModel('ok') })
    const { boss } = bossOf([childTool('delegate', child)], [])
    const runtime = story.start({ agents: [boss], pollMs: 20 })
    const { store } = runtime
    // As a process would leave it that was stopped after it had read, and continued after the parent was deleted.
    const callId = 'call-of-the-deleted'
    const message = { parts: [{ type: 'text' as const, text: 'go' }] }
    const content = { turnId: childTurnIdOf(callId), message, options: {}, who: 'ann' }
    await store.commit(childIdOf(callId), {
      events: [{ type: 'user_msg', content }],
      conversation: { agent: 'child', parent: { id: 'deleted', callId } },
    })
    await until(async () => (await store.getConversation(childIdOf(callId))) === null)
  })

  test('a child whose call was ended meanwhile is cancelled', async () => {
    const paced = pacedModel()
    const child = defineAgent({ name: 'child', model: paced })
    const { boss } = bossOf([childTool('delegate', child)], [askTwice[0]!])
    const store = story.openStore()
    const first = story.start({ agents: [boss], store })
    const chat = first.conversation('c1', { agent: 'boss' })
    const turn = await chat.send('go')
    await paced.called(1)
    await first.close({ drainMs: 0 })
    const [childId] = await childIdsOf(chat as Conversation)
    expect(
      await store.resolveToolCall(childId!.slice('child-'.length), 'resolved', { ok: true, result: 'told by hand' }),
    ).toBe('ok')
    const second = story.start({ agents: [boss], store: story.reopen(store), pollMs: 20 })
    expect(await second.conversation('c1').turn(turn.turnId).outcome()).toMatchObject({ status: 'completed' })
    expect(await second.conversation(childId!).outcome()).toMatchObject({ status: 'cancelled' })
    expect(paced.calls).toHaveLength(1)
  })
})
