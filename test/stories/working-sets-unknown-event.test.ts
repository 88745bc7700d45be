import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/agent/define-agent.ts'
import type { NewEvent } from '../../src/log/events.ts'
import type { Logger } from '../../src/logger/logger.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tool/define-tool.ts'
import { bossOf, childTool } from './child-agents.ts'
import { overStores } from './over-stores.ts'
import { pacedModel } from './paced-model.ts'
import { onlyPendingOf } from './pending-of.ts'
import { recordedStore } from './recorded-store.ts'
import { until } from './until.ts'

const ofTheFuture = { type: 'from_the_future', content: { turnId: 't' } } as unknown as NewEvent

overStores('an event that this version does not know', (story) => {
  function start(pollMs = 10) {
    const errors: string[] = []
    const logger: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: (text) => errors.push(text) }
    const model = scriptedModel('fine')
    const agent = defineAgent({ name: 'a', model })
    const { store, counts } = recordedStore(story.openStore())
    const runtime = story.start({ agents: [agent], store, logger, pollMs })
    return { runtime, store, counts, errors, model, agent, chat: runtime.conversation('c1', { agent: 'a' }) }
  }

  test('makes the node leave the conversation alone until its log grows; others are not held up', async () => {
    const { runtime, store, counts, errors, model, chat } = start()
    await (await chat.send('one')).outcome()
    await store.appendEvent('c1', ofTheFuture)
    const turn = await chat.send('two', { whenBusy: 'queue' })
    await until(() => errors.includes('a conversation cannot be worked on here'))
    const [complaints, loads] = [errors.length, counts['acquireLease'] ?? 0]
    const other = runtime.conversation('c2', { agent: 'a' })
    expect(await (await other.send('hello')).outcome()).toMatchObject({ status: 'completed' })
    await new Promise((resolve) => setTimeout(resolve, 60))
    expect(errors.length).toBe(complaints)
    expect((counts['acquireLease'] ?? 0) - loads).toBeLessThanOrEqual(1)
    expect(model.calls).toHaveLength(2)
    expect(await turn.outcome()).toMatchObject({
      status: 'detached',
      reason: expect.stringContaining("'from_the_future', which this version does not know"),
    })
    // It grows, so it is looked at again.
    await store.commit('c1', { events: [{ type: 'cancel_requested', content: { turnId: 'nobody', who: 'ann' } }] })
    await until(() => errors.length > complaints)
  })

  test('is not folded past, whoever asks', async () => {
    const { store, chat } = start()
    await (await chat.send('one')).outcome()
    await store.appendEvent('c1', ofTheFuture)
    const unknown = { code: 'event_unknown' }
    await expect(chat.view()).rejects.toMatchObject(unknown)
    await expect(chat.send('two')).rejects.toMatchObject(unknown)
    await expect(chat.cancel()).rejects.toMatchObject(unknown)
    await expect(chat.watch().next()).rejects.toMatchObject(unknown)
    expect((await chat.events()).map((event) => event.type)).toContain('from_the_future')
  })

  test('does not keep anybody from deleting the conversation', async () => {
    const { store, chat } = start()
    await (await chat.send('one')).outcome()
    await store.appendEvent('c1', ofTheFuture)
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
    const runtime = story.start({ agents: [boss], leaseMs: 300, pollMs: 20 })
    const chat = runtime.conversation('c1', { agent: 'boss' })
    const { conversationId } = await onlyPendingOf(await chat.send('go'))
    await runtime.store.appendEvent(conversationId, ofTheFuture)
    expect(await chat.view()).toMatchObject({ state: 'running', pending: [] })
    expect(await chat.cancel()).toMatchObject({ status: 'cancelled' })
    expect(await chat.delete()).toBe(true)
    expect(await runtime.store.getConversation(conversationId)).toBeNull()
  })

  test('leaves the lease to a node that knows it', async () => {
    const { store, errors, chat } = start()
    await (await chat.send('one')).outcome()
    await store.appendEvent('c1', ofTheFuture)
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
    await store.appendEvent('c1', ofTheFuture)
    await expect(rest).rejects.toMatchObject({ code: 'event_unknown' })
    expect(await turn.outcome()).toMatchObject({ status: 'detached' })
    await until(() => call.signal?.aborted)
    await until(async () => (await store.acquireLease('c1', 'a newer node', 1_000)) !== null)
    expect((await store.streamEvents('c1')).map((event) => event.type)).toEqual(['user_msg', 'from_the_future'])
  })
})
