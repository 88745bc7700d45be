import { expect, test } from 'vitest'
import { z } from 'zod'
import type { Logger } from '../../src/base/logger.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { exported, importText } from '../upkeep/exported.ts'
import { faultsIn } from '../upkeep/faults-in.ts'
import { bossOf, childTool } from './child-agents.ts'
import { overStores } from './over-stores.ts'
import { pacedModel } from './paced-model.ts'
import { onlyPendingOf } from './pending-of.ts'
import { recordedStore } from './recorded-store.ts'
import { until } from './until.ts'

const ofTheFuture = { type: 'from_the_future', content: { turnId: 't' } }

overStores('an event that this version does not know', (story) => {
  function start(pollMs = 10) {
    const errors: string[] = []
    const logger: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: (text) => errors.push(text) }
    const model = scriptedModel('fine')
    const agent = defineAgent({ name: 'a', model })
    const data = story.openStore()
    const { store, counts } = recordedStore(data)
    const runtime = story.start({ agents: [agent], store, logger, pollMs })
    const appendLater = () => story.appendAsLater(data, 'c1', ofTheFuture)
    const chat = runtime.conversation('c1', { agent: 'a' })
    return { runtime, data, store, counts, errors, model, agent, chat, appendLater }
  }

  test('makes the node leave the conversation alone until its log grows; others are not held up', async () => {
    const { runtime, store, counts, errors, model, chat, appendLater } = start()
    await (await chat.send('one')).outcome()
    await appendLater()
    const turn = await chat.send('two', { whenBusy: 'queue' })
    await until(() => errors.includes('a conversation cannot be worked on here'))
    const [complaints, loads] = [errors.length, counts['claimLease'] ?? 0]
    const other = runtime.conversation('c2', { agent: 'a' })
    expect(await (await other.send('hello')).outcome()).toMatchObject({ status: 'completed' })
    await new Promise((resolve) => setTimeout(resolve, 60))
    expect(errors.length).toBe(complaints)
    expect((counts['claimLease'] ?? 0) - loads).toBeLessThanOrEqual(1)
    expect(model.calls).toHaveLength(2)
    expect(await turn.outcome()).toMatchObject({
      status: 'detached',
      reason: expect.stringContaining("'from_the_future', which perdure"),
    })
    // It grows, so it is looked at again.
    await store.commit('c1', { events: [{ type: 'cancel_requested', content: { turnId: 'nobody', who: 'ann' } }] })
    await until(() => errors.length > complaints)
  })

  test('is not folded past by any process', async () => {
    const { chat, appendLater } = start()
    await (await chat.send('one')).outcome()
    await appendLater()
    const unknown = { code: 'event_unknown' }
    await expect(chat.send('two')).rejects.toMatchObject(unknown)
    await expect(chat.cancel()).rejects.toMatchObject(unknown)
    await expect(chat.watch({ after: 0 }).next()).rejects.toMatchObject(unknown)
    expect((await chat.events()).map((event) => event.type)).toContain('from_the_future')
  })

  test('is read up to, and readers learn which version is needed', async () => {
    const { runtime, data, chat } = start()
    await (await chat.send('one')).outcome()
    await (await chat.send('two')).outcome()
    const whole = await chat.view()
    const { messages } = await chat.history()
    await story.appendAsLater(data, 'c1', { type: 'teleported', content: { turnId: 't', since: '0.7.0' } })
    const three = { turnId: 't3', message: { parts: [] }, options: {}, who: 'ann' }
    await data.appendEvent('c1', { type: 'user_msg', content: three })
    const unknownEvent = { seq: whole.seq + 1, type: 'teleported', needs: '0.7.0' }
    expect(await chat.view()).toEqual({ ...whole, unknownEvent })
    expect(await chat.history()).toEqual({ messages, notes: [], before: null, unknownEvent })
    const older = await chat.history({ limit: 1 })
    expect(older.messages).toEqual(messages.slice(2))
    expect((await chat.history({ before: older.before!, limit: 1 })).messages).toEqual(messages.slice(0, 2))
    const watching = chat.watch()
    expect(await watching.next()).toEqual({
      done: false,
      value: { type: 'snapshot', view: { ...whole, unknownEvent } },
    })
    await expect(watching.next()).rejects.toThrow('Upgrade perdure on this node to 0.7.0 or later.')
    expect((await chat.events()).map(({ seq }) => seq)).toEqual(Array.from({ length: 8 }, (_, index) => index + 1))
    expect((await runtime.conversations()).map(({ id }) => id)).toEqual(['c1'])
  })

  test('is exported, and imported elsewhere, as it is', async () => {
    const { data, chat, appendLater } = start()
    await (await chat.send('one')).outcome()
    await appendLater()
    const text = await exported(data)
    const other = story.openStore()
    await importText(other, text)
    expect(await other.streamEvents('c1')).toEqual(await data.streamEvents('c1'))
    expect(await exported(other)).toBe(text)
    expect(await faultsIn(other)).toEqual([expect.stringContaining('event_unknown')])
  })

  test('that does not say what it needs asks for a later version than this', async () => {
    const { chat, appendLater } = start()
    await (await chat.send('one')).outcome()
    await appendLater()
    expect((await chat.view()).unknownEvent).toEqual({ seq: 4, type: 'from_the_future', needs: null })
    await expect(chat.send('two')).rejects.toThrow(/which perdure \d+\.\d+\.\d+ does not know/)
  })

  test('does not keep anybody from deleting the conversation', async () => {
    const { store, chat, appendLater } = start()
    await (await chat.send('one')).outcome()
    await appendLater()
    expect(await chat.delete()).toBe(true)
    expect(await store.getConversation('c1')).toBeNull()
  })

  test('in the log of a child agent leaves the agent that waits for it visible, running, and able to end', async () => {
    const ask = defineTool({
      ...{ name: 'ask', description: 'Ask', input: z.object({}) },
      ...{ executor: 'human', output: z.string() },
    })
    const asking = scriptedModel({ calls: [{ tool: 'ask', args: {} }] })
    const child = defineAgent({ name: 'child', model: asking, tools: [ask] })
    const { boss } = bossOf([childTool('delegate', child)], [{ tool: 'delegate', args: { task: 'x' } }])
    const data = story.openStore()
    const runtime = story.start({ agents: [boss], store: data, leaseMs: 300, pollMs: 20 })
    const chat = runtime.conversation('c1', { agent: 'boss' })
    const { conversationId } = await onlyPendingOf(await chat.send('go'))
    await story.appendAsLater(data, conversationId, ofTheFuture)
    expect(await chat.view()).toMatchObject({ phase: 'running', pending: [] })
    expect(await chat.cancel()).toMatchObject({ status: 'cancelled' })
    expect(await chat.delete()).toBe(true)
    expect(await runtime.store.getConversation(conversationId)).toBeNull()
  })

  test('leaves the lease to a node that knows it', async () => {
    const { store, errors, chat, appendLater } = start()
    await (await chat.send('one')).outcome()
    await appendLater()
    await chat.send('two', { whenBusy: 'queue' })
    await until(() => errors.includes('a conversation cannot be worked on here'))
    await until(async () => {
      const lease = await store.acquireLease('c1', 'a newer node', 1_000)
      return lease !== null
    })
  })

  test('written while the conversation is worked on makes the node let go of it', async () => {
    const model = pacedModel()
    const errors: string[] = []
    const logger: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: (text) => errors.push(text) }
    const store = story.openStore()
    const agent = defineAgent({ name: 'slow', model })
    const chat = story.start({ agents: [agent], store, logger, pollMs: 10 }).conversation('c1', { agent: 'slow' })
    const turn = await chat.send('one')
    const call = await model.called(1)
    const watched = chat.watch()
    await watched.next()
    const rest = (async () => {
      for await (const _ of watched);
    })()
    const failed = expect(rest).rejects.toMatchObject({ code: 'event_unknown' })
    await story.appendAsLater(store, 'c1', ofTheFuture)
    // What this process writes itself it hears of at once.
    await store.commit('c1', { events: [], wakeAt: 'now' })
    await failed
    expect(await turn.outcome()).toMatchObject({ status: 'detached' })
    await until(() => call.signal?.aborted)
    await until(async () => (await store.acquireLease('c1', 'a newer node', 1_000)) !== null)
    expect((await store.streamEvents('c1')).map((event) => event.type)).toEqual(['user_msg', 'from_the_future'])
  })
})
