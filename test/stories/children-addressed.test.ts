import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineFlow } from '../../src/define/define-flow.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { childIdOf } from '../../src/log/child-call.ts'
import type { Conversation } from '../../src/runtime/conversation.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { bossOf, childTool } from './child-agents.ts'
import { overStores, type StoryContext } from './over-stores.ts'
import { onlyPendingOf } from './pending-of.ts'
import { until } from './until.ts'

const isChild = { code: 'child_conversation' }
const isMissing = { code: 'agent_missing' }

const asking = defineFlow({
  name: 'asking',
  version: 1,
  run: async (flow, input) => flow.agent(String(input), { message: 'Do it.' }),
})

/** A boss that starts an agent which only its tool names, once a person has approved. What that agent buys needs approval too. */
function start(story: StoryContext) {
  const buy = defineTool({
    name: 'buy',
    description: 'Buy it',
    input: z.object({}),
    approval: 'required',
    run: () => 'bought',
  })
  const model = scriptedModel(({ prompt }) =>
    prompt.some((message) => message.role === 'tool') ? 'Bought.' : { calls: [{ tool: 'buy', args: {} }] },
  )
  const worker = defineAgent({ name: 'worker', model, tools: [buy] })
  const tool = childTool('delegate', worker, { approval: 'required' })
  const { boss } = bossOf([tool], [{ tool: 'delegate', args: { task: 'do it' } }])
  const runtime = story.start({ agents: [boss], flows: [asking], pollMs: 20 })
  return { runtime, store: runtime.store, model, worker, chat: runtime.conversation('c1', { agent: 'boss' }) }
}

/** The same, with the child started and waiting for an approval of its own. */
async function startWithChild(story: StoryContext) {
  const started = start(story)
  const turn = await started.chat.send('go')
  const gate = await onlyPendingOf(turn)
  await started.chat.approve(gate)
  const item = await until(async () => (await started.runtime.inbox()).find(({ tool: name }) => name === 'buy'))
  const id = childIdOf(gate.callId)
  return { ...started, turn, id, item, child: started.runtime.conversation(id) as Conversation }
}

/** What each verb does to the conversation of a child. A verb that is missing here fails the test below. */
type Case =
  | { readonly refused: object; readonly calls: readonly ((child: Conversation) => Promise<unknown>)[] }
  | 'goes'

const verbs: Readonly<Record<Exclude<keyof Conversation, 'id'>, Case>> = {
  send: {
    refused: isChild,
    calls: (['reject', 'queue', 'steer', 'interrupt'] as const).map(
      (whenBusy) => (child) => child.send('do this instead', { whenBusy }),
    ),
  },
  retry: { refused: isChild, calls: [(child) => child.retry(), (child) => child.retry('t1', { force: true })] },
  continue: { refused: isChild, calls: [(child) => child.continue()] },
  fork: { refused: isMissing, calls: [(child) => child.fork(), (child) => child.fork({ agent: 'worker' })] },
  outcome: 'goes',
  turn: 'goes',
  cancel: 'goes',
  approve: 'goes',
  deny: 'goes',
  answer: 'goes',
  extendDeadline: 'goes',
  note: 'goes',
  state: 'goes',
  setState: 'goes',
  view: 'goes',
  history: 'goes',
  events: 'goes',
  watch: 'goes',
  modelCalls: 'goes',
  explain: 'goes',
  forks: 'goes',
  lineage: 'goes',
  rename: 'goes',
  detach: 'goes',
  delete: 'goes',
}

overStores('an agent that only a tool names', (story) => {
  test.each([
    ['a new conversation', 'c2'],
    ['the conversation of another agent', 'c1'],
  ])('is not there for a caller: %s', async (_, id) => {
    const { runtime, model, chat } = start(story)
    await chat.send('go')
    const named = runtime.conversation(id, { agent: 'worker' as 'boss' })
    const refused = named.send('do it')
    await expect(refused).rejects.toMatchObject(isMissing)
    // It looks like one that does not exist, and the list has only those that can be named.
    await expect(refused).rejects.toThrow(/There is no agent 'worker' here for '.*Available: boss\.$/)
    expect(runtime.agents).toEqual(['boss'])
    expect(model.calls).toHaveLength(0)
  })

  test('is not there for a flow, however it is named', async () => {
    const { runtime, model } = start(story)
    const outcome = await runtime.flow(asking, 's1').start('worker')
    expect(outcome).toMatchObject({
      status: 'failed',
      error: expect.stringMatching(/no agent 'worker' here\. .*Available: boss\./),
    })
    expect(model.calls).toHaveLength(0)
  })

  test('is not there for a conversation that was given to it in the store', async () => {
    const { runtime, store, model } = start(story)
    await store.putConversation('c2', { agent: 'worker' })
    await expect(runtime.conversation('c2').send('do it')).rejects.toMatchObject(isMissing)
    await expect(runtime.conversation('c2').continue()).rejects.toMatchObject(isMissing)
    await expect(runtime.conversation('c2').fork()).rejects.toMatchObject(isMissing)
    expect(model.calls).toHaveLength(0)
  })

  test('does not work on what no call of a parent has started, and the list says so', async () => {
    const { runtime, store, model } = start(story)
    const content = {
      turnId: 't1',
      message: { parts: [{ type: 'text' as const, text: 'do it' }] },
      options: {},
      who: 'x',
    }
    await store.commit('c2', { events: [{ type: 'user_msg', content }], conversation: { agent: 'worker' } })
    const listed = await until(async () =>
      (await runtime.conversations({ agent: 'worker' })).find((one) => one.problem),
    )
    expect(listed).toMatchObject({ id: 'c2', problem: isMissing })
    expect(model.calls).toHaveLength(0)
  })

  test('does not go on in a copy that another node made, and its inbox says so', async () => {
    const { runtime, store, id, item, model } = await startWithChild(story)
    await store.fork(id, 'copy')
    const copied = await until(async () => (await runtime.inbox()).find((one) => one.conversationId === 'copy'))
    expect(copied).toMatchObject({ tool: 'buy', agentMissing: true })
    expect(item.agentMissing).toBe(false)
    await expect(runtime.conversation('copy').continue()).rejects.toMatchObject(isMissing)
    expect(await runtime.conversation('copy').approve(copied)).toEqual({ accepted: true })
    await until(
      async () => (await runtime.conversations({ agent: 'worker' })).find((one) => one.id === 'copy')?.problem,
    )
    expect((await store.streamEvents('copy')).some(({ type }) => type === 'tool_started')).toBe(false)
    expect(model.calls).toHaveLength(1)
  })
})

overStores("a child's conversation", (story) => {
  test('has a verdict for every verb', async () => {
    const { child } = await startWithChild(story)
    expect(Object.keys(verbs).toSorted()).toEqual(
      Object.keys(child)
        .filter((name) => name !== 'id')
        .toSorted(),
    )
  })

  test('is not talked to past its parent, and the error names it', async () => {
    const { runtime, id, model, child } = await startWithChild(story)
    const before = await child.events()
    const named = runtime.conversation(id, { agent: 'boss' }) as Conversation
    for (const [verb, verdict] of Object.entries(verbs)) {
      if (verdict === 'goes') continue
      for (const call of verdict.calls) await expect(call(child), verb).rejects.toMatchObject(verdict.refused)
    }
    await expect(named.send('do this instead')).rejects.toMatchObject({
      ...isChild,
      parent: 'c1',
      message: expect.stringContaining("'c1'"),
    })
    expect(await child.events()).toEqual(before)
    expect(await runtime.conversations({ agent: 'worker' })).toHaveLength(1)
    expect(model.calls).toHaveLength(1)
  })

  test('is given no other message in the place of the one that its parent waits for, before and after its end', async () => {
    const { chat, turn, id, item, child } = await startWithChild(story)
    const opened = (await child.events()).find(({ type }) => type === 'user_msg')!
    const { turnId } = opened.content as { readonly turnId: string }
    const replacing = [
      () => child.send('do this instead', { replaces: turnId }),
      () => child.send('do this instead', { replaces: turnId, force: true, key: 'k' }),
      () => child.retry(turnId, { force: true }),
    ]
    const refusedAll = async () => {
      const before = await child.events()
      for (const replace of replacing) await expect(replace()).rejects.toMatchObject(isChild)
      expect(await child.events()).toEqual(before)
      expect(before.some(({ type }) => type === 'superseded')).toBe(false)
    }
    await refusedAll()
    await chat.approve(item)
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect((await child.view()).conversationId).toBe(id)
    await refusedAll()
  })

  test('is not talked to after its end either', async () => {
    const { turn, item, chat, child } = await startWithChild(story)
    await chat.approve(item)
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    await expect(child.send('and once more')).rejects.toMatchObject(isChild)
    await expect(child.continue()).rejects.toMatchObject(isChild)
  })

  test('is read, and what it waits for is answered in it', async () => {
    const { runtime, turn, item, id, child } = await startWithChild(story)
    expect((await child.view()).pending).toMatchObject([{ callId: item.callId }])
    expect((await child.history()).messages.length).toBeGreaterThan(0)
    expect(await child.lineage()).toEqual([])
    expect(await runtime.inspect(id).record()).toMatchObject({ agent: 'worker', parent: { id: 'c1' } })
    expect(await child.approve(item)).toEqual({ accepted: true })
    expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'Done.' })
  })

  test('goes on as a copy with an agent that can be named', async () => {
    const { child } = await startWithChild(story)
    const copy = await child.fork({ at: 1, agent: 'boss' })
    await expect(copy.continue()).resolves.toBeUndefined()
  })

  test('ends when it is cancelled or deleted, and its parent is told', async () => {
    const cancelled = await startWithChild(story)
    expect(await cancelled.child.cancel()).toMatchObject({ status: 'cancelled' })
    expect(await cancelled.turn.outcome()).toMatchObject({ status: 'completed' })
    const deleted = await startWithChild(story)
    expect(await deleted.child.delete()).toBe(true)
    expect(await deleted.turn.outcome()).toMatchObject({ status: 'completed' })
  })
})

overStores('the id of a child that is not there yet', (story) => {
  test('is not taken by a message, a copy or a session', async () => {
    const { runtime, chat } = start(story)
    const turn = await chat.send('go')
    const gate = await onlyPendingOf(turn)
    const id = childIdOf(gate.callId)
    await expect(runtime.conversation(id, { agent: 'boss' }).send('mine')).rejects.toMatchObject(isChild)
    await expect(chat.fork({ id })).rejects.toMatchObject(isChild)
    await expect(runtime.flow(asking, id).start('boss')).rejects.toMatchObject(isChild)
    const session = runtime.flow(asking, 's1')
    await session.start('nobody')
    await expect(session.fork(id)).rejects.toMatchObject(isChild)
    expect(await runtime.inspect(id).record()).toBeNull()
    await chat.approve(gate)
    expect(await until(async () => (await runtime.inbox())[0])).toMatchObject({ tool: 'buy', conversationId: id })
  })

  test('where something else has it all the same, the call ends as an error', async () => {
    const { runtime, store, chat } = start(story)
    const turn = await chat.send('go')
    const gate = await onlyPendingOf(turn)
    const content = { turnId: 't', message: { parts: [{ type: 'text' as const, text: 'x' }] }, options: {}, who: 'x' }
    await store.commit(childIdOf(gate.callId), {
      events: [{ type: 'user_msg', content }],
      conversation: { agent: 'nobody' },
    })
    await chat.approve(gate)
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    const resolution = (await chat.events()).findLast(({ type }) => type === 'resolution')
    expect(resolution?.content).toMatchObject({
      value: { ok: false, error: expect.stringContaining('could not be started') },
    })
    expect(await runtime.conversation(childIdOf(gate.callId)).events()).toHaveLength(1)
  })

  test('an id that only begins like one is like any other', async () => {
    const { runtime } = start(story)
    await runtime.conversation('child-of-mine', { agent: 'boss' }).send('go')
    expect(await runtime.inspect('child-of-mine').record()).toMatchObject({ agent: 'boss' })
  })
})
