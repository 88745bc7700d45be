import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { StoreError } from '../../src/base/errors/store-errors.ts'
import type { Agent } from '../../src/define/agent.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createScope, systemScope } from '../../src/define/scope.ts'
import { foldEvents } from '../../src/log/fold-events.ts'
import { baseOf } from '../../src/log/state.ts'
import type { Conversation } from '../../src/runtime/conversation.ts'
import type { Store } from '../../src/store/store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { bossOf, childTool } from './child-agents.ts'
import { gate } from './gate.ts'
import { meddledStore } from './meddled-store.ts'
import { overStores, type StoryContext } from './over-stores.ts'
import { pacedModel } from './paced-model.ts'
import { onlyPendingOf, pendingOf } from './pending-of.ts'
import { snapshotBook } from './snapshot-book.ts'
import { until } from './until.ts'

const ask = defineTool({ name: 'ask', description: 'Ask', input: z.object({}), executor: 'human', output: z.string() })

function start(story: StoryContext, agent: Agent, options: { restoreScope?: never } = {}) {
  const store = story.openStore()
  const book = snapshotBook(store)
  const runtime = story.start({ agents: [agent], store, persistence: book.persistence, ...options })
  const scope = createScope({ user: 'ann' })
  const chat = runtime.as(scope).conversation('c1', { agent: agent.name }) as Conversation
  return { runtime, chat, book, scope, store }
}

overStores('a snapshot is taken', (story) => {
  test('when a turn completes, with what was said', async () => {
    const agent = defineAgent({ name: 'helper', model: scriptedModel('Hello.') })
    const { chat, book, scope } = start(story, agent)
    const { turnId, outcome } = await chat.send('Hi')
    expect(await outcome()).toMatchObject({ status: 'completed' })
    expect(book.taken).toHaveLength(1)
    const [snapshot] = book.taken
    expect(snapshot).toMatchObject({ lifecycle: 'on_completion', agentId: 'helper', conversationId: 'c1' })
    expect(snapshot!.scope).toEqual({ ...scope, restored: true })
    expect(snapshot!.logThen.at(-1)).toMatchObject({ type: 'turn_ended', seq: snapshot!.state.seq })
    expect(snapshot!.state).toEqual({
      version: 3,
      seq: 3,
      phase: 'idle',
      title: null,
      owner: 'ann',
      summary: null,
      turns: [{ turnId, status: 'completed', reason: null }],
      messages: [
        { role: 'user', turnId, at: expect.any(Number), parts: [{ type: 'text', text: 'Hi' }] },
        { role: 'assistant', turnId, at: expect.any(Number), parts: [{ type: 'text', text: 'Hello.' }] },
      ],
    })
  })

  test('when it is durable, and before callers in this process learn of it', async () => {
    const begun = gate()
    const mayEnd = gate()
    const persistState = async () => {
      begun.open()
      await mayEnd.opened
    }
    const agent = defineAgent({ name: 'helper', model: scriptedModel('Hello.') })
    const persistence = { persistState, loadState: () => null }
    const runtime = story.start({ agents: [agent], persistence, persistTimeoutMs: 20_000, pollMs: 5 })
    const chat = runtime.conversation('c1', { agent: 'helper' })
    const told: string[] = []
    const watcher = chat.watch()
    await watcher.next()
    const watching = (async () => {
      for await (const event of watcher) {
        told.push(event.type)
        if (event.type === 'turn_completed') return
      }
    })()
    const turn = await chat.send('Hi')
    const early = turn.outcome().then(({ status }) => told.push(status))
    await begun.opened
    expect((await chat.events()).at(-1)).toMatchObject({ type: 'turn_ended' })
    // Who comes now is not told either, and looking again and again does not help.
    const late = turn.outcome().then(({ status }) => told.push(status))
    await sleep(100)
    for (const word of ['turn_ended', 'turn_completed', 'completed']) expect(told).not.toContain(word)
    mayEnd.open()
    await Promise.all([watching, early, late])
    expect(told.filter((word) => word === 'completed')).toHaveLength(2)
  })

  test('when a turn is halted by a limit, as one that is complete', async () => {
    const tool = defineTool({ name: 'again', description: 'Again', input: z.object({}), run: () => ({ n: 1 }) })
    const model = scriptedModel({ calls: [{ tool: 'again', args: {} }] })
    const { chat, book } = start(story, defineAgent({ name: 'helper', model, tools: [tool], maxSteps: 1 }))
    await (await chat.send('Hi')).outcome()
    expect(book.taken.map(({ lifecycle }) => lifecycle)).toEqual(['on_completion'])
    expect(book.taken[0]!.state.messages.at(-1)!.parts).toMatchObject([
      { type: 'call', name: 'again', args: {}, status: 'ok', result: { n: 1 } },
    ])
  })

  test('when a turn is cancelled, with what there was of its message', async () => {
    const model = pacedModel()
    const { chat, book } = start(story, defineAgent({ name: 'helper', model }))
    await chat.send('Hi')
    const call = await model.called(1)
    call.say('as I was')
    await until(async () => (await chat.view()).drafts.length > 0)
    expect(await chat.cancel()).toMatchObject({ status: 'cancelled' })
    expect(book.taken.map(({ lifecycle }) => lifecycle)).toEqual(['on_cancel'])
    expect(book.taken[0]!.state.messages.at(-1)).toMatchObject({ parts: [{ text: 'as I was' }] })
  })

  test('when a turn fails', async () => {
    const model = scriptedModel({ error: { status: 400 } })
    const { chat, book } = start(story, defineAgent({ name: 'helper', model, retry: false }))
    expect(await (await chat.send('Hi')).outcome()).toMatchObject({ status: 'failed' })
    expect(book.taken.map(({ lifecycle }) => lifecycle)).toEqual(['on_error'])
  })

  test('when it waits for an answer, and again when it waits for the next', async () => {
    const model = scriptedModel([
      { calls: [{ tool: 'ask', args: {} }] },
      { calls: [{ tool: 'ask', args: {} }] },
      'Thanks.',
    ])
    const { chat, book } = start(story, defineAgent({ name: 'helper', model, tools: [ask] }))
    const turn = await chat.send('Hi')
    const first = await onlyPendingOf(turn)
    expect(book.taken.map(({ lifecycle }) => lifecycle)).toEqual(['on_interrupt'])
    expect(book.taken[0]!.state).toMatchObject({ phase: 'awaiting_input' })
    expect(book.taken[0]!.state.messages.at(-1)!.parts).toMatchObject([
      { name: 'ask', status: 'pending', result: null },
    ])
    await chat.answer(first, 'one')
    await chat.answer(await onlyPendingOf(turn), 'two')
    await turn.outcome()
    expect(book.taken.map(({ lifecycle }) => lifecycle)).toEqual(['on_interrupt', 'on_interrupt', 'on_completion'])
  })

  test('when it waits for an answer, only after all else has run', async () => {
    const model = scriptedModel([
      {
        calls: [
          { tool: 'ask', args: {} },
          { tool: 'work', args: {} },
        ],
      },
      'Thanks.',
    ])
    const work = defineTool({ name: 'work', description: 'Work', input: z.object({}), run: () => 'worked' })
    const { chat, book } = start(story, defineAgent({ name: 'helper', model, tools: [ask, work] }))
    await onlyPendingOf(await chat.send('Hi'))
    expect(book.taken).toMatchObject([{ lifecycle: 'on_interrupt' }])
    expect(book.taken[0]!.state.messages.at(-1)!.parts).toMatchObject([{ status: 'pending' }, { status: 'ok' }])
  })

  test('of a child agent that waits, not of the agent that waits for it', async () => {
    const child = defineAgent({
      name: 'child',
      model: scriptedModel({ calls: [{ tool: 'ask', args: {} }] }),
      tools: [ask],
    })
    const { boss } = bossOf([childTool('delegate', child)], [{ tool: 'delegate', args: { task: 'x' } }])
    const { chat, book } = start(story, boss)
    const call = await onlyPendingOf(await chat.send('Hi'))
    expect(book.taken).toMatchObject([
      { lifecycle: 'on_interrupt', agentId: 'child', conversationId: call.conversationId },
    ])
  })

  test('when a title was generated: here it is announced first', async () => {
    const agent = defineAgent({ name: 'helper', model: scriptedModel(['Hello.', 'A greeting']), title: true })
    const { chat, book } = start(story, agent)
    const announced: string[][] = []
    const watcher = chat.watch()
    await watcher.next()
    const watching = (async () => {
      for await (const event of watcher) {
        if (event.type !== 'titled') continue
        announced.push(book.taken.map(({ lifecycle }) => lifecycle))
        return
      }
    })()
    await (await chat.send('Hi')).outcome()
    await watching
    await until(() => book.taken.length === 2)
    expect(announced).toEqual([['on_completion']])
    expect(book.taken[1]).toMatchObject({ lifecycle: 'on_title_generated', state: { title: 'A greeting', seq: 4 } })
  })

  test('when the process closes: for running, waiting and recent conversations', async () => {
    const model = pacedModel()
    const agent = defineAgent({ name: 'helper', model, tools: [ask] })
    const { runtime, chat, book } = start(story, agent)
    await chat.send('Hi')
    await model.answer(1, 'Hello.')
    await chat.outcome()
    const asking = runtime.conversation('c2', { agent: 'helper' })
    const waiting = await asking.send('Hi')
    const call = await model.called(2)
    call.call('ask', {})
    call.finish()
    await onlyPendingOf(waiting)
    await runtime.conversation('c3', { agent: 'helper' }).send('Hi')
    ;(await model.called(3)).say('I was just')
    await runtime.close({ drainMs: 0 })
    const atClose = book.taken.filter(({ lifecycle }) => lifecycle === 'on_shutdown')
    expect(atClose.map(({ conversationId, state }) => [conversationId, state.phase]).toSorted()).toEqual([
      ['c1', 'idle'],
      ['c2', 'awaiting_input'],
      ['c3', 'running'],
    ])
  })

  test('when one conversation is stopped', async () => {
    const model = pacedModel()
    const { chat, book } = start(story, defineAgent({ name: 'helper', model }))
    await chat.send('Hi')
    await model.called(1)
    await chat.detach()
    expect(book.taken).toMatchObject([{ lifecycle: 'on_shutdown', conversationId: 'c1', state: { phase: 'running' } }])
    await chat.detach()
    expect(book.taken).toHaveLength(1)
  })

  test('with the scope that opened the turn that ended, also when another turn is next', async () => {
    const model = pacedModel()
    const { runtime, chat, book } = start(story, defineAgent({ name: 'helper', model }))
    await chat.send('one')
    await model.called(1)
    const bob = createScope({ user: 'bob' })
    const second = await runtime.as(bob).conversation('c1').send('two', { whenBusy: 'queue' })
    await model.answer(1, 'first')
    await model.answer(2, 'second')
    await second.outcome()
    expect(book.taken.map(({ scope }) => (scope as { user?: string }).user)).toEqual(['ann', 'bob'])
  })

  test('of a conversation that was stopped when nothing of it ran any more, once', async () => {
    const { chat, book } = start(story, defineAgent({ name: 'helper', model: scriptedModel('Hello.') }))
    await (await chat.send('Hi')).outcome()
    await until(() => book.taken.length === 1)
    await chat.detach()
    await chat.detach()
    expect(book.taken.map(({ lifecycle }) => lifecycle)).toEqual(['on_completion', 'on_shutdown'])
  })

  test('not again for what it waited for already', async () => {
    const model = scriptedModel([{ calls: [1, 2].map(() => ({ tool: 'ask', args: {} })) }, 'Thanks.'])
    const { chat, book, store } = start(story, defineAgent({ name: 'helper', model, tools: [ask] }))
    const turn = await chat.send('Hi')
    const [first, second] = await pendingOf(turn)
    await chat.answer(first!, 'one')
    await until(async () => (await store.getConversation('c1'))?.fsmState?.lastSeq === 7)
    await chat.answer(second!, 'two')
    await turn.outcome()
    expect(book.taken.map(({ lifecycle }) => lifecycle)).toEqual(['on_interrupt', 'on_completion'])
  })

  test.each(['meets a newer log', 'fails in the store'])(
    'once, and no one waits in vain, when the commit it is of first %s',
    async (how) => {
      const data = story.openStore()
      const book = snapshotBook(data)
      let isFirst = true
      const store = meddledStore(data, async ({ events }) => {
        if (!isFirst || !events.some(({ type }) => type === 'turn_ended')) return
        isFirst = false
        if (how === 'fails in the store') throw new StoreError('the connection was lost', { ambiguous: false })
        const message = { parts: [{ type: 'text' as const, text: 'And?' }] }
        const content = { turnId: 'next', message, options: {}, who: 'bob' }
        await data.commit('c1', { events: [{ type: 'user_msg', content }] })
      })
      const agent = defineAgent({ name: 'helper', model: scriptedModel('Hello.') })
      const runtime = story.start({ agents: [agent], store, persistence: book.persistence })
      const chat = runtime.conversation('c1', { agent: 'helper' })
      const watcher = chat.watch()
      await watcher.next()
      const turn = await chat.send('Hi')
      expect(await turn.outcome()).toMatchObject({ status: 'completed' })
      const turns = how === 'fails in the store' ? 1 : 2
      await until(() => book.taken.length === turns)
      expect(isFirst).toBe(false)
      // Who comes late has to read, and that must not wait for what was never committed.
      expect(await turn.outcome()).toMatchObject({ status: 'completed' })
      await watcher.return()
    },
  )

  test('not of a conversation that was deleted', async () => {
    const { runtime, chat, book } = start(story, defineAgent({ name: 'helper', model: scriptedModel('Hello.') }))
    await (await chat.send('Hi')).outcome()
    await chat.delete()
    await runtime.close()
    expect(book.taken.map(({ lifecycle }) => lifecycle)).toEqual(['on_completion'])
  })

  test.each([undefined, 'acme'])(
    'without a scope where there is no turn, and never for another tenant: %s',
    async (tenant) => {
      const store = story.openStore()
      const agent = defineAgent({ name: 'helper', model: scriptedModel('Hello.') })
      const as = createScope({ user: 'ann', ...(tenant === undefined ? {} : { tenant }) })
      const first = story.start({ agents: [agent], store })
      await (await first.as(as).conversation('c1', { agent: 'helper' }).send('Hi')).outcome()
      await first.close()
      const own = store.forTenant(tenant ?? 'default')
      const base = baseOf(foldEvents(await own.streamEvents('c1')))
      await own.putSummary('c1', { fromSeq: 1, toSeq: 3, content: 'They greeted.', version: 1, base })

      const book = snapshotBook(own as Store)
      const second = story.start({ agents: [agent], store: story.reopen(store), persistence: book.persistence })
      await second.as(as).conversation('c1').continue()
      await until(async () => (await store.dueWork({ agents: ['helper'], limit: 1 })).length === 0)
      await until(() => own.acquireLease('c1', 'somebody', 1))
      await second.close()
      expect(book.taken).toMatchObject([
        { lifecycle: 'on_shutdown', state: { summary: 'They greeted.', messages: [] } },
      ])
      expect(book.taken[0]!.scope).toEqual(tenant === undefined ? null : systemScope(tenant))
    },
  )

  test('not by a process that runs nothing', async () => {
    const agent = defineAgent({ name: 'helper', model: scriptedModel('Hello.') })
    const { store, runtime } = start(story, agent)
    const there = snapshotBook(store)
    const idle = story.start({
      agents: [agent],
      store: story.reopen(store),
      persistence: there.persistence,
      work: false,
      pollMs: 20,
    })
    const turn = await idle.conversation('c1', { agent: 'helper' }).send('Hi')
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    await idle.close()
    expect(there.taken).toEqual([])
    await runtime.close()
  })
})
