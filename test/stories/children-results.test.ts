import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createScope } from '../../src/define/scope.ts'
import { childIdOf } from '../../src/log/child-call.ts'
import { maxEventBytes } from '../../src/store/checks.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { checkHistory } from '../log/check-history.ts'
import { bossOf, childTool } from './child-agents.ts'
import { overStores } from './over-stores.ts'
import { recordedStore } from './recorded-store.ts'
import { shapeOf } from './texts.ts'
import { toolResults } from './tool-results.ts'
import { until } from './until.ts'

overStores('the result of a child agent', (story) => {
  test('is its text, and the model that called it reads it', async () => {
    const child = defineAgent({ name: 'researcher', model: scriptedModel('Paris.') })
    const { boss, model } = bossOf([childTool('research', child)], [{ tool: 'research', args: { task: 'capital?' } }])
    const runtime = story.start({ agents: [boss] })
    const chat = runtime.conversation('c1', { agent: 'boss' })
    const turn = await chat.send('What is the capital of France?')
    expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'Done.' })
    expect(toolResults(model, 2)).toEqual([['research', { type: 'text', value: 'Paris.' }]])
    expect(shapeOf(await chat.events())).toEqual([
      'user_msg',
      'assistant_msg complete',
      'tool_call',
      'suspension',
      'resolution resolved',
      'assistant_msg complete',
      'turn_ended completed',
    ])
    checkHistory(await chat.events())
  })

  test('comes from a conversation of its own, linked to the call', async () => {
    const model = scriptedModel('Paris.')
    const child = defineAgent({ name: 'researcher', model, instructions: 'Look it up.' })
    const { boss } = bossOf([childTool('research', child)], [{ tool: 'research', args: { task: 'capital?' } }])
    const runtime = story.start({ agents: [boss] })
    const chat = runtime.as(createScope({ user: 'ann' })).conversation('c1', { agent: 'boss' })
    await (await chat.send('go')).outcome()
    const call = (await chat.view()).messages.flatMap((message) => message.parts).find((part) => part.type === 'call')
    if (call?.type !== 'call') throw new Error('no call')
    const id = childIdOf(call.callId)
    expect(await runtime.conversation(id).outcome()).toMatchObject({ status: 'completed', text: 'Paris.' })
    const record = await runtime.store.getConversation(id)
    expect(record).toMatchObject({ agent: 'researcher', parent: { id: 'c1', callId: call.callId }, status: 'idle' })
    const events = await runtime.conversation(id).events()
    expect(shapeOf(events)).toEqual(['user_msg', 'assistant_msg complete', 'turn_ended completed'])
    expect(events[0]?.content).toMatchObject({ who: 'ann', message: { parts: [{ type: 'text', text: 'capital?' }] } })
    expect(model.calls).toHaveLength(1)
    // The key follows from the call, too, and is known: starting it again would be nothing new.
    const again = { events: [], key: `child/${call.callId}`, expectedSeq: 1_000 }
    expect(await runtime.store.commit(id, again)).toMatchObject({ ok: true, seq: 1 })
    checkHistory(events)
  })

  test('reaches the parent after the child has committed its own end', async () => {
    const child = defineAgent({ name: 'researcher', model: scriptedModel('Paris.') })
    const { boss } = bossOf([childTool('research', child)], [{ tool: 'research', args: { task: 'capital?' } }])
    const { store, commits } = recordedStore(story.openStore())
    const runtime = story.start({ agents: [boss], store })
    await (await runtime.conversation('c1', { agent: 'boss' }).send('go')).outcome()
    const typesOf = () =>
      commits.map(({ events }) => events.map(({ type }) => type).join()).filter((type) => type !== '')
    expect(await until(() => typesOf().length === 6 && typesOf())).toEqual([
      ...['user_msg', 'assistant_msg,tool_call,suspension'],
      ...['user_msg', 'assistant_msg,turn_ended'],
      ...['resolution', 'assistant_msg,turn_ended'],
    ])
  })

  test('is its object, where it has a schema', async () => {
    const model = scriptedModel({ object: { city: 'Paris' } })
    const child = defineAgent({ name: 'researcher', model, output: z.object({ city: z.string() }) })
    const { boss, model: bossModel } = bossOf(
      [childTool('research', child)],
      [{ tool: 'research', args: { task: 'x' } }],
    )
    const runtime = story.start({ agents: [boss] })
    await (await runtime.conversation('c1', { agent: 'boss' }).send('go')).outcome()
    expect(toolResults(bossModel, 2)).toEqual([['research', { type: 'json', value: { city: 'Paris' } }]])
  })

  test('is what its last tool returned, where it runs until a tool', async () => {
    const submit = defineTool({
      name: 'submit',
      description: 'Submit',
      input: z.object({ n: z.number() }),
      run: ({ n }) => ({ submitted: n }),
    })
    const model = scriptedModel({ calls: [{ tool: 'submit', args: { n: 7 } }] })
    const child = defineAgent({ name: 'researcher', model, tools: [submit], untilTool: 'submit' })
    const { boss, model: bossModel } = bossOf(
      [childTool('research', child)],
      [{ tool: 'research', args: { task: 'x' } }],
    )
    const runtime = story.start({ agents: [boss] })
    await (await runtime.conversation('c1', { agent: 'boss' }).send('go')).outcome()
    expect(toolResults(bossModel, 2)).toEqual([['research', { type: 'json', value: { submitted: 7 } }]])
  })

  test('is an error when it is too large to be recorded', async () => {
    // As much as a message may have: with the long name of who tells it, too much.
    const model = scriptedModel('x'.repeat(maxEventBytes - 340))
    const child = defineAgent({ name: 'c'.repeat(200), model })
    const { boss, model: bossModel } = bossOf(
      [childTool('research', child)],
      [{ tool: 'research', args: { task: 'x' } }],
    )
    const runtime = story.start({ agents: [boss] })
    const turn = await runtime.conversation('c1', { agent: 'boss' }).send('go')
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    const error = expect.stringMatching(/^its result cannot be recorded: .*1048576/s)
    expect(toolResults(bossModel, 2)).toEqual([['research', { type: 'error-text', value: error }]])
    const [listed] = await runtime.conversations({ agent: child.name })
    expect(await runtime.conversation(listed!.id).outcome()).toMatchObject({ status: 'completed' })
  })

  test('is an error when the child fails, is halted or is cancelled', async () => {
    const failing = defineAgent({ name: 'failing', model: scriptedModel({ error: { status: 400 } }), retry: false })
    const again = { calls: [{ tool: 'again', args: {} }] }
    const loop = defineTool({ name: 'again', description: 'Again', input: z.object({}), run: () => 1 })
    const halting = defineAgent({ name: 'halting', model: scriptedModel(again), tools: [loop], maxSteps: 2 })
    const ask = defineTool({
      name: 'ask',
      description: 'Ask',
      input: z.object({}),
      executor: 'human',
      output: z.string(),
    })
    const asking = defineAgent({
      name: 'asking',
      model: scriptedModel({ calls: [{ tool: 'ask', args: {} }] }),
      tools: [ask],
    })
    const { boss, model } = bossOf(
      [childTool('fail', failing), childTool('halt', halting), childTool('ask', asking)],
      ['fail', 'halt', 'ask'].map((tool) => ({ tool, args: { task: 'x' } })),
    )
    const runtime = story.start({ agents: [boss] })
    const turn = await runtime.conversation('c1', { agent: 'boss' }).send('go')
    const waiting = await turn.outcome()
    if (waiting.status !== 'waiting') throw new Error(`expected to wait, but ${waiting.status}`)
    await runtime.conversation(waiting.pending[0]!.conversationId).cancel()
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(toolResults(model, 2)).toEqual([
      ['fail', { type: 'error-text', value: expect.stringMatching(/^the agent 'failing' failed: model_rejected/) }],
      ['halt', { type: 'error-text', value: "the agent 'halting' was halted: max_steps" }],
      ['ask', { type: 'error-text', value: "the agent 'asking' was cancelled" }],
    ])
  })
})
