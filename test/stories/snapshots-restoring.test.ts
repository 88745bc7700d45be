import { expect, test } from 'vitest'
import { z } from 'zod'
import type { Json } from '../../src/base/json.ts'
import type { Agent } from '../../src/define/agent.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createScope } from '../../src/define/scope.ts'
import type { Snapshot } from '../../src/log/snapshot.ts'
import type { Conversation } from '../../src/runtime/conversation.ts'
import type { LoadContext, Persistence } from '../../src/snapshot/persistence.ts'
import type { Store } from '../../src/store/store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { examineStore } from '../../src/upkeep/index.ts'
import { checkHistory } from '../log/check-history.ts'
import { gate } from './gate.ts'
import { overStores, type StoryContext } from './over-stores.ts'
import { onlyPendingOf, pendingOf } from './pending-of.ts'
import { linesOf } from './texts.ts'
import { until } from './until.ts'

/** An app that keeps the newest snapshot of each conversation, wherever it was taken. */
function table() {
  const kept = new Map<string, Json>()
  const contexts: LoadContext[] = []
  const persistence: Persistence = {
    persistState(_, state, context) {
      kept.set(context.conversationId ?? '', state as unknown as Json)
      contexts.push(context)
    },
    loadState: (_, { conversationId }) => kept.get(conversationId ?? '') ?? null,
  }
  return { kept, contexts, persistence }
}

type Options = { readonly store?: Store; readonly persistence: Persistence; readonly user?: string }

function open(story: StoryContext, agent: Agent, { user = 'ann', ...options }: Options) {
  const runtime = story.start({ agents: [agent], ...options })
  const chat = runtime.as(createScope({ user })).conversation('c1', { agent: agent.name }) as Conversation
  return { runtime, chat, store: runtime.store }
}

const runs: string[] = []
const refund = defineTool({
  name: 'refund',
  description: 'Refund',
  input: z.object({ cents: z.number() }),
  approval: 'required',
  run: ({ cents }, { callId }) => {
    runs.push(callId ?? '')
    return { paid: cents }
  },
})
const ask = defineTool({ name: 'ask', description: 'Ask', input: z.object({}), executor: 'human', output: z.string() })
const locate = defineTool({
  ...{ name: 'locate', description: 'Locate', input: z.object({}), executor: 'client', approval: 'required' },
  output: z.object({ city: z.string() }),
})

/** Calls the tool in the first message of a turn, and says how that went in the second. */
const calling = (tool: string, args: Json = {}) =>
  scriptedModel(({ prompt }) =>
    prompt.at(-1)?.role === 'tool' ? 'Done.' : { text: 'Let me.', calls: [{ tool, args }] },
  )

overStores('a conversation whose log is lost', (story) => {
  test('is restored when it is continued: messages marked as restored, and a call that can be approved', async () => {
    const { persistence } = table()
    const model = calling('refund', { cents: 5 })
    const agent = defineAgent({ name: 'helper', model, tools: [refund] })
    const old = open(story, agent, { persistence })
    const oldCall = await onlyPendingOf(await old.chat.send('Pay me back.'))
    const before = await old.chat.view()
    await old.runtime.close()

    const now = open(story, agent, { persistence })
    await now.chat.continue()
    const view = await now.chat.view()
    expect(view.phase).toBe('waiting')
    expect(view.messages).toMatchObject([
      { role: 'user', restored: true, parts: [{ text: 'Pay me back.' }], who: 'ann' },
      {
        role: 'assistant',
        restored: true,
        status: 'complete',
        parts: [{ text: 'Let me.' }, { type: 'call', name: 'refund' }],
      },
    ])
    expect(view.messages.map(({ at }) => at)).toEqual(before.messages.map(({ at }) => at))
    expect((await now.chat.history()).messages).toEqual(view.messages)
    const [call] = view.pending
    expect(call).toMatchObject({ tool: 'refund', args: { cents: 5 }, kind: 'approval', restoredFrom: oldCall.callId })
    expect(call!.callId).not.toBe(oldCall.callId)
    expect(await now.store.pendingInbox()).toMatchObject([{ id: call!.callId, conversationId: 'c1' }])
    await expect(now.chat.approve(oldCall.callId)).rejects.toMatchObject({ code: 'call_not_found' })

    await now.chat.approve(call!)
    expect(await now.chat.outcome()).toMatchObject({ status: 'completed', text: 'Done.' })
    expect(runs.filter((callId) => callId === call!.callId)).toHaveLength(1)
    expect(linesOf(model.calls.at(-1)!.prompt)).toEqual([
      'user: Pay me back.',
      'assistant: Let me. [tool-call refund]',
      'tool: [tool-result refund]',
    ])
    checkHistory(await now.chat.events())
    expect((await examineStore(now.store)).faults).toBe(0)
    // The old one still waits where it was, apart from the new one.
    const elsewhere = story.reopen(old.store)
    if (story.name !== 'memory') expect(await elsewhere.pendingToolCalls('c1')).toMatchObject([{ id: oldCall.callId }])
  })

  test('comes back beside the old one in the same store, under another id, and each call is answered alone', async () => {
    const { persistence, kept } = table()
    const agent = defineAgent({ name: 'helper', model: calling('refund', { cents: 7 }), tools: [refund] })
    const { chat, runtime, store } = open(story, agent, { persistence })
    const turn = await chat.send('Pay me back.')
    const oldCall = await onlyPendingOf(turn)
    kept.set('c2', kept.get('c1')!)
    const copy = runtime.conversation('c2', { agent: 'helper' })
    await copy.continue()
    const [call] = (await copy.view()).pending
    await copy.deny(call!)
    expect(await copy.outcome()).toMatchObject({ status: 'completed' })
    expect(await store.pendingToolCalls('c1')).toMatchObject([{ id: oldCall.callId, status: 'pending' }])
    await chat.approve(oldCall)
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(runs).toContain(oldCall.callId)
    expect(runs).not.toContain(call!.callId)
  })

  test('asks its question again, and the page is asked again without another approval', async () => {
    const { persistence, kept } = table()
    const agent = defineAgent({ name: 'helper', model: calling('ask'), tools: [ask] })
    const old = open(story, agent, { persistence })
    await onlyPendingOf(await old.chat.send('Hi'))
    const now = open(story, agent, { persistence })
    await now.chat.continue()
    const [question] = (await now.chat.view()).pending
    expect(question).toMatchObject({ kind: 'elicitation', tool: 'ask' })
    await expect(now.chat.answer(question!, 7)).rejects.toMatchObject({ code: 'invalid_answer' })
    await now.chat.answer(question!, 'Tea.')
    expect(await now.chat.outcome()).toMatchObject({ status: 'completed', text: 'Done.' })

    kept.clear()
    const located = defineAgent({ name: 'locator', model: calling('locate'), tools: [locate] })
    const first = open(story, located, { persistence })
    const turn = await first.chat.send('Where am I?')
    await first.chat.approve(await onlyPendingOf(turn))
    expect(await onlyPendingOf(turn)).toMatchObject({ kind: 'client_exec', round: 2 })
    const second = open(story, located, { persistence })
    await second.chat.continue()
    const [exec] = (await second.chat.view()).pending
    expect(exec).toMatchObject({ kind: 'client_exec', tool: 'locate', round: 1 })
    await second.chat.answer(exec!, { ok: true, result: { city: 'Kyoto' } })
    expect(await second.chat.outcome()).toMatchObject({ status: 'completed' })
  })

  test('has its files: those in the snapshot, and those that the store still has; others are named', async () => {
    const { persistence, kept } = table()
    const model = scriptedModel(() => 'Seen.')
    const agent = defineAgent({ name: 'helper', model })
    const old = open(story, agent, { persistence })
    const small = new Uint8Array([1, 2, 3])
    const large = new Uint8Array(2 * 1024 * 1024).fill(7)
    await (
      await old.chat.send([
        { type: 'text', text: 'Look.' },
        { type: 'file', mediaType: 'image/png', data: small, filename: 'small.png' },
        { type: 'file', mediaType: 'image/png', data: large, filename: 'large.png' },
        { type: 'file', mediaType: 'image/png', data: 'https://example.com/a.png' },
      ])
    ).outcome()
    const taken = kept.get('c1') as unknown as Snapshot
    expect(taken.messages[0]!.parts).toMatchObject([
      { text: 'Look.' },
      { blob: { size: 3 } },
      { blob: { size: large.byteLength }, data: expect.any(String) },
      { url: 'https://example.com/a.png' },
    ])
    expect(taken.messages[0]!.parts[1]).not.toHaveProperty('data')

    const now = open(story, agent, { persistence })
    await (await now.chat.send('And?')).outcome()
    const [said] = model.calls.at(-1)!.prompt
    expect(said!.content).toMatchObject([
      { type: 'text', text: 'Look.' },
      { type: 'text', text: '[file small.png (image/png): it was not in the snapshot]' },
      { type: 'file', filename: 'large.png', data: { type: 'data', data: large } },
      { type: 'file', data: { type: 'url' } },
    ])
    expect((await examineStore(now.store)).faults).toBe(0)

    kept.set('c2', taken as unknown as Json)
    const beside = old.runtime.as(createScope({ user: 'ann' })).conversation('c2', { agent: 'helper' })
    await (await beside.send('And?')).outcome()
    expect(model.calls.at(-1)!.prompt[0]!.content).toMatchObject([
      { type: 'text' },
      { type: 'file', filename: 'small.png', data: { type: 'data', data: small } },
      { type: 'file', filename: 'large.png' },
      { type: 'file' },
    ])
  })

  test('keeps how its turns ended, and what was cut off', async () => {
    const { persistence, kept } = table()
    const model = scriptedModel([{ text: ['as I ', 'was saying'], cutAfter: 1 }, 'Hello.'])
    const agent = defineAgent({ name: 'helper', model, retry: false })
    const old = open(story, agent, { persistence })
    expect(await (await old.chat.send('Hi')).outcome()).toMatchObject({ status: 'failed' })
    const { turns, messages } = kept.get('c1') as unknown as Snapshot
    expect(turns).toMatchObject([{ status: 'failed', reason: expect.any(String) }])
    expect(messages.at(-1)).toMatchObject({ cutOff: 'failed' })

    const now = open(story, agent, { persistence })
    await (await now.chat.send('Again.')).outcome()
    const { log, messages: shown } = await now.chat.view()
    expect(log.turns[0]!.end).toMatchObject({ status: 'failed', reason: turns[0]!.reason })
    expect(shown[1]).toMatchObject({ restored: true, status: 'failed' })
    expect(linesOf(model.calls.at(-1)!.prompt)[1]).toContain('[This message was cut off by an error.]')
    expect(shown.slice(2).every((message) => !('restored' in message))).toBe(true)
  })

  test('reports a call that ran as unknown, and its turn as interrupted', async () => {
    const { persistence, kept } = table()
    const started = gate()
    const slow = defineTool({
      ...{ name: 'slow', description: 'Slow', input: z.object({}) },
      run: async () => {
        started.open()
        await new Promise(() => {})
      },
    })
    const agent = defineAgent({ name: 'helper', model: calling('slow'), tools: [slow] })
    const old = open(story, agent, { persistence })
    await old.chat.send('Hi')
    await started.opened
    await old.chat.detach()
    expect(kept.get('c1')).toMatchObject({ phase: 'running', turns: [{ status: 'open' }] })

    const now = open(story, agent, { persistence })
    await now.chat.continue()
    const { messages, phase, log } = await now.chat.view()
    expect([phase, log.turns[0]!.end]).toMatchObject(['idle', { status: 'failed', reason: 'interrupted' }])
    expect(messages.at(-1)!.parts.at(-1)).toMatchObject({ name: 'slow', phase: 'ended', end: { outcome: 'unknown' } })
    checkHistory(await now.chat.events())
  })

  test('is busy while it waits; what is queued runs after the answer', async () => {
    const { persistence } = table()
    const agent = defineAgent({ name: 'helper', model: calling('refund', { cents: 1 }), tools: [refund] })
    const old = open(story, agent, { persistence })
    await onlyPendingOf(await old.chat.send('Pay me back.'))

    const now = open(story, agent, { persistence })
    await expect(now.chat.send('Hello?')).rejects.toMatchObject({ code: 'conversation_busy' })
    const queued = await now.chat.send('Hello?', { whenBusy: 'queue' })
    const [call] = (await now.chat.view()).pending
    await now.chat.deny(call!)
    expect(await pendingOf(queued)).toHaveLength(1)
    expect((await now.chat.view()).messages.map(({ role }) => role)).toEqual([
      ...['user', 'assistant', 'assistant', 'user', 'assistant'],
    ])
  })

  test('keeps the deadline of what it waits for', async () => {
    const { persistence, kept } = table()
    const agent = defineAgent({ name: 'helper', model: calling('ask'), tools: [{ ...ask, expiresInMs: 60_000 }] })
    const old = open(story, agent, { persistence })
    const oldCall = await onlyPendingOf(await old.chat.send('Hi'))
    const now = open(story, agent, { persistence })
    await now.chat.continue()
    const [call] = (await now.chat.view()).pending
    expect(Math.abs(call!.expiresAt! - oldCall.expiresAt!)).toBeLessThan(5_000)

    const text = JSON.stringify(kept.get('c1')).replace(String(oldCall.expiresAt), '1000')
    kept.set('c1', JSON.parse(text) as Json)
    const late = open(story, agent, { persistence })
    await late.chat.continue()
    await until(async () => (await late.chat.outcome()).status === 'completed')
    expect((await late.chat.events()).find(({ type }) => type === 'resolution')).toMatchObject({
      content: { status: 'expired' },
    })
  })

  test('belongs to the person who opened it, also when another process takes the snapshot', async () => {
    const { persistence, contexts } = table()
    const agent = defineAgent({ name: 'helper', model: calling('refund', { cents: 2 }), tools: [refund] })
    const first = open(story, agent, { persistence })
    const turn = await first.chat.send('Pay me back.')
    const call = await onlyPendingOf(turn)
    await first.runtime.close()
    const second = open(story, agent, { persistence, store: story.reopen(first.store), user: 'bob' })
    await second.chat.approve(call.callId)
    await second.chat.turn(turn.turnId).outcome()
    await (await second.chat.send('Me too.')).outcome()
    await until(() => contexts.length >= 3)
    expect(new Set(contexts.map(({ owner }) => owner))).toEqual(new Set(['ann']))
  })

  test('is gone where no persistence was configured', async () => {
    const agent = defineAgent({ name: 'helper', model: scriptedModel(['Hello.', 'Anew.']) })
    const chatIn = (store: Store) => story.start({ agents: [agent], store }).conversation('c1', { agent: 'helper' })
    await (await chatIn(story.openStore()).send('Hi')).outcome()
    const chat = chatIn(story.openStore())
    await expect(chat.continue()).rejects.toMatchObject({ code: 'conversation_not_found' })
    expect(await (await chat.send('Still there?')).outcome()).toMatchObject({ status: 'completed', text: 'Anew.' })
    expect((await chat.history()).messages).toHaveLength(2)
  })

  test('cannot be continued without a snapshot', async () => {
    const { persistence } = table()
    const agent = defineAgent({ name: 'helper', model: scriptedModel('ok') })
    await expect(open(story, agent, { persistence }).chat.continue()).rejects.toMatchObject({
      code: 'conversation_not_found',
    })
  })
})
