import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { untilState } from '../../src/testing/fake-clock.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { gate } from './gate.ts'
import { overStores } from './over-stores.ts'
import { pacedModel } from './paced-model.ts'
import { onlyPendingOf } from './pending-of.ts'
import { linesOf, shapeOf } from './texts.ts'
import { until } from './until.ts'
import { untilShown } from './until-shown.ts'

overStores('forking a conversation', (story) => {
  test('gives two that go on by themselves from the same past', async () => {
    const model = scriptedModel(({ n }) => `answer ${n}`)
    const runtime = story.start({ agents: [defineAgent({ name: 'a', model })] })
    const chat = runtime.conversation('c1', { agent: 'a' })
    await (await chat.send('one')).outcome()
    const copy = await chat.fork({ id: 'c2' })
    expect(copy.id).toBe('c2')
    expect(shapeOf(await copy.events())).toEqual(shapeOf(await chat.events()))
    expect(await (await copy.send('other')).outcome()).toMatchObject({ status: 'completed', text: 'answer 2' })
    expect(linesOf(model.calls[1]!.prompt)).toEqual(['user: one', 'assistant: answer 1', 'user: other'])
    expect(await chat.events()).toHaveLength(3)
    expect(await runtime.store.getConversation('c2')).toMatchObject({ parent: { id: 'c1', at: 3 } })
    const named = await chat.fork()
    expect(named.id).not.toBe('c1')
  })

  test('at an event in the middle of a turn does nothing until it is continued, and then goes on from there', async () => {
    const model = scriptedModel(({ n }) => `answer ${n}`)
    const chat = story.start({ agents: [defineAgent({ name: 'a', model })] }).conversation('c1', { agent: 'a' })
    await (await chat.send('one')).outcome()
    const copy = await chat.fork({ at: 1, id: 'c2' })
    expect((await copy.view()).phase).toBe('running')
    await new Promise((resolve) => setTimeout(resolve, 30))
    expect(model.calls).toHaveLength(1)
    await copy.continue()
    expect(await copy.outcome()).toMatchObject({ status: 'completed', text: 'answer 2' })
    expect(shapeOf(await copy.events())).toEqual(['user_msg', 'assistant_msg complete', 'turn_ended completed'])
  })

  test('with a pending call gives each its own call to answer', async () => {
    const runs: string[] = []
    const act = defineTool({
      name: 'act',
      description: 'Act',
      input: z.object({}),
      approval: 'required',
      run: (_, turn) => void runs.push(turn.callId!),
    })
    const model = scriptedModel(({ prompt }) =>
      prompt.some(({ role }) => role === 'tool') ? 'Done.' : { calls: [{ tool: 'act', args: {} }] },
    )
    const agent = defineAgent({ name: 'a', model, tools: [act] })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'a' })
    const turn = await chat.send('go')
    const call = await onlyPendingOf(turn)
    const copy = await chat.fork({ id: 'c2' })
    const [copied] = (await copy.view()).pending
    expect(copied!.callId).not.toBe(call.callId)
    expect(await copy.approve(copied!)).toEqual({ accepted: true })
    expect(await copy.outcome()).toMatchObject({ status: 'completed', text: 'Done.' })
    expect(runs).toEqual([copied!.callId])
    expect(await turn.outcome()).toMatchObject({ status: 'waiting' })
    await chat.deny(call)
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(runs).toEqual([copied!.callId])
  })

  test('that is not there, to a name that is taken, or past its end is refused', async () => {
    const agent = defineAgent({ name: 'a', model: scriptedModel('fine') })
    const runtime = story.start({ agents: [agent] })
    const chat = runtime.conversation('c1', { agent: 'a' })
    await expect(chat.fork()).rejects.toMatchObject({ code: 'conversation_not_found' })
    await (await chat.send('one')).outcome()
    await expect(chat.fork({ id: 'c1' })).rejects.toMatchObject({ code: 'conversation_exists' })
    await expect(chat.fork({ at: 9 })).rejects.toMatchObject({ code: 'invalid_argument' })
    await expect(runtime.conversation('nobody').continue()).rejects.toMatchObject({ code: 'conversation_not_found' })
  })
})

overStores('stopping work on a conversation', (story) => {
  test('leaves it as it is: this node does not touch it until it gets new work', async () => {
    const isDone = gate()
    const signals: AbortSignal[] = []
    const slow = defineTool({
      name: 'slow',
      description: 'Slow',
      input: z.object({}),
      run: (_, { signal }) => {
        signals.push(signal)
        return isDone.opened
      },
    })
    const model = scriptedModel(({ n }) => (n === 1 ? { calls: [{ tool: 'slow', args: {} }] } : `answer ${n}`))
    const agent = defineAgent({ name: 'a', model, tools: [slow] })
    const chat = story.start({ agents: [agent], pollMs: 10 }).conversation('c1', { agent: 'a' })
    const turn = await chat.send('one')
    await until(() => signals.length === 1)
    await chat.detach()
    expect(signals[0]!.aborted).toBe(true)
    const { seq } = await chat.view()
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect((await chat.view()).seq).toBe(seq)
    expect(model.calls).toHaveLength(1)
    await chat.continue()
    expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'answer 2' })
  })

  test('in the middle of a message withdraws it, and another node says it anew', async () => {
    const model = pacedModel()
    const agent = defineAgent({ name: 'a', model })
    const store = story.openStore()
    const chat = story.start({ agents: [agent], store, pollMs: 10 }).conversation('c1', { agent: 'a' })
    const turn = await chat.send('one')
    const call = await model.called(1)
    call.say('as I was')
    await untilShown(chat, 'as I was')
    await chat.detach()
    expect((await chat.view()).drafts).toEqual([])
    expect(shapeOf(await chat.events())).toEqual(['user_msg'])
    expect(model.calls).toHaveLength(1)
    story.start({ agents: [agent], store: story.reopen(store) })
    await model.answer(2, 'anew')
    expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'anew' })
  })

  test('ends when its log grows, by any writer', async () => {
    const model = pacedModel()
    const agent = defineAgent({ name: 'a', model })
    const store = story.openStore()
    const chat = story.start({ agents: [agent], store, pollMs: 10 }).conversation('c1', { agent: 'a' })
    const turn = await chat.send('one')
    await model.called(1)
    await chat.detach()
    const api = story.start({ agents: [agent], store: story.reopen(store), work: false }).conversation('c1')
    const next = await api.send('two', { whenBusy: 'queue' })
    await model.answer(2, 'first')
    await model.answer(3, 'second')
    expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'first' })
    expect(await next.outcome()).toMatchObject({ status: 'completed', text: 'second' })
  })

  test('of one without an owner changes nothing', async () => {
    const agent = defineAgent({ name: 'a', model: scriptedModel('fine') })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'a' })
    await chat.detach()
    expect(await (await chat.send('one')).outcome()).toMatchObject({ status: 'completed' })
    await chat.detach()
    expect(await (await chat.send('two')).outcome()).toMatchObject({ status: 'completed' })
  })
})

overStores('deleting a conversation', (story) => {
  test('takes everything with it, and its name can be used again', async () => {
    const model = scriptedModel(({ n }) => `answer ${n}`)
    const runtime = story.start({ agents: [defineAgent({ name: 'a', model })] })
    const chat = runtime.conversation('c1', { agent: 'a' })
    await (await chat.send('my secret', { key: 'k' })).outcome()
    expect(await chat.delete()).toBe(true)
    expect(await chat.delete()).toBe(false)
    expect(await chat.events()).toEqual([])
    expect(await runtime.conversations()).toEqual([])
    expect((await chat.view()).messages).toEqual([])
    expect(await (await chat.send('hello', { key: 'k' })).outcome()).toMatchObject({ text: 'answer 2' })
    expect(linesOf(model.calls[1]!.prompt)).toEqual(['user: hello'])
  })

  test('while it waits for an answer: the answer finds nothing, and nothing is left in the inbox', async () => {
    const ask = defineTool({
      name: 'ask',
      description: 'Ask',
      input: z.object({}),
      executor: 'human',
      output: z.string(),
    })
    const model = scriptedModel({ calls: [{ tool: 'ask', args: {} }] })
    const runtime = story.start({ agents: [defineAgent({ name: 'a', model, tools: [ask] })] })
    const chat = runtime.conversation('c1', { agent: 'a' })
    const call = await onlyPendingOf(await chat.send('go'))
    expect(await runtime.inbox()).toHaveLength(1)
    expect(await chat.delete()).toBe(true)
    expect(await runtime.inbox()).toEqual([])
    await expect(chat.answer(call, 'blue')).rejects.toMatchObject({ code: 'call_not_found' })
  })

  test('while a tool runs: what it returns has no place any more', async () => {
    const isDone = gate<string>()
    const isIn = gate()
    const slow = defineTool({
      name: 'slow',
      description: 'Slow',
      input: z.object({}),
      run: () => {
        isIn.open()
        return isDone.opened
      },
    })
    const model = scriptedModel({ calls: [{ tool: 'slow', args: {} }] })
    const agent = defineAgent({ name: 'a', model, tools: [slow] })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'a' })
    await chat.send('go')
    await isIn.opened
    await chat.delete()
    isDone.open('too late')
    await new Promise((resolve) => setTimeout(resolve, 30))
    expect(await chat.events()).toEqual([])
  })

  test('that was summed up leaves nothing of the summary to the next of its name', async () => {
    const model = scriptedModel(({ prompt }) =>
      JSON.stringify(prompt).includes('keep the memory') ? 'SUMMARY OF SECRETS' : 'x'.repeat(400),
    )
    const agent = defineAgent({
      name: 'a',
      model,
      context: { workingBudget: 600, windowTurns: 40 },
    })
    const runtime = story.start({ agents: [agent] })
    const chat = runtime.conversation('c1', { agent: 'a' })
    for (let n = 0; n < 8; n++) await (await chat.send(`message ${n}`)).outcome()
    await until(async () => (await runtime.store.latestSummary('c1')) !== null)
    for (let n = 0; n < 8; n++) await (await chat.send(`message ${n}`)).outcome()
    expect(model.calls.some(({ prompt }) => JSON.stringify(prompt).includes('SUMMARY OF SECRETS'))).toBe(true)
    await chat.delete()
    const calls = model.calls.length
    await (await chat.send('hello')).outcome()
    await (await chat.send('again')).outcome()
    const prompts = model.calls.slice(calls).map(({ prompt }) => linesOf(prompt))
    expect(prompts[0]).toEqual(['user: hello'])
    expect(prompts[1]).toEqual(['user: hello', `assistant: ${'x'.repeat(400)}`, 'user: again'])
  })
})

overStores('waiting for a state', (story) => {
  test('ends when the log says so', async () => {
    const model = pacedModel()
    const agent = defineAgent({ name: 'a', model })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'a' })
    expect(await untilState(chat, 'idle')).toMatchObject({ seq: 0, messages: [] })
    await chat.send('one')
    expect(await untilState(chat, 'running')).toMatchObject({ messages: [{ role: 'user' }] })
    await model.answer(1, 'fine')
    expect((await untilState(chat, 'idle')).messages).toHaveLength(2)
  })
})
