import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { halt } from '../../src/define/create-hook.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createScope } from '../../src/define/scope.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { checkHistory } from '../log/check-history.ts'
import { dyingBefore } from './dying-before.ts'
import { gate } from './gate.ts'
import { overStores, type StoryContext } from './over-stores.ts'
import { onlyPendingOf } from './pending-of.ts'
import { recordedStore } from './recorded-store.ts'
import { linesOf, shapeOf } from './texts.ts'
import { until } from './until.ts'

vi.setConfig({ testTimeout: 30_000 })

const handOver = {
  name: 'hand_over',
  description: 'Hand over to a person',
  input: z.object({}),
  run: () => halt('handed over', { result: { ticket: 7 } }) as unknown,
}

/** A desk whose model calls these tools at once, and says 'Done.' when it is asked again. */
function desk(tools: Parameters<typeof defineAgent>[0]['tools'] & object) {
  const calls = tools.map(({ name }) => ({ tool: name, args: {} }))
  const model = scriptedModel(({ prompt }) =>
    prompt.at(-1)?.role === 'tool' ? 'Done.' : { text: 'One moment.', calls },
  )
  return { model, agent: defineAgent({ name: 'desk', model, tools }) }
}

function open(story: StoryContext, { agent }: ReturnType<typeof desk>) {
  const { store, commits } = recordedStore(story.openStore())
  const runtime = story.start({ agents: [agent], store })
  return {
    store,
    commits,
    runtime,
    chat: runtime.as(createScope({ user: 'ann' })).conversation('c1', { agent: 'desk' }),
  }
}

overStores('a tool that ends the turn', (story) => {
  test('ends it as halted with its reason: halt and result are one commit, and no model is called again', async () => {
    const made = desk([defineTool(handOver)])
    const { chat, commits } = open(story, made)
    const outcome = await (await chat.send('help')).outcome()
    expect(outcome).toMatchObject({ status: 'halted', reason: 'handed over', text: 'One moment.' })
    expect(made.model.calls).toHaveLength(1)
    const log = await chat.events()
    expect(shapeOf(log).slice(3)).toEqual(['tool_started', 'halted_by', 'tool_result', 'turn_ended halted'])
    const [mark, result] = log.slice(4, 6)
    expect(mark?.content).toEqual({ callId: expect.any(String), reason: 'handed over' })
    expect(result?.content).toMatchObject({ ok: true, result: { ticket: 7 } })
    const together = commits.find(({ events }) => events.some(({ type }) => type === 'halted_by'))
    expect(together?.events.map(({ type }) => type)).toEqual(['halted_by', 'tool_result', 'turn_ended'])
    checkHistory(log)
  })

  test('leaves its result for the next turn, which is a turn like any other', async () => {
    const made = desk([defineTool({ ...handOver, run: () => halt('handed over') })])
    const { chat } = open(story, made)
    await (await chat.send('help')).outcome()
    await (await chat.send('and now?')).outcome()
    const prompt = made.model.calls[1]!.prompt
    expect(linesOf(prompt)).toEqual([
      'user: help',
      'assistant: One moment. [tool-call hand_over]',
      'tool: [tool-result hand_over]',
      'user: and now?',
    ])
    const results = (await chat.events()).filter((event) => event.type === 'tool_result')
    expect(results[0]?.content).toMatchObject({ ok: true, result: null })
  })

  test('lets the calls beside it finish first, and the first of two gives the reason', async () => {
    const isDone = gate()
    const slow = defineTool({
      ...handOver,
      name: 'slow',
      run: async () => {
        await isDone.opened
        return halt('later')
      },
    })
    const made = desk([defineTool(handOver), slow])
    const { chat } = open(story, made)
    const turn = await chat.send('help')
    await until(async () => (await chat.events()).some(({ type }) => type === 'halted_by'))
    expect((await chat.events()).some(({ type }) => type === 'turn_ended')).toBe(false)
    isDone.open()
    expect(await turn.outcome()).toMatchObject({ status: 'halted', reason: 'handed over' })
    const log = await chat.events()
    const halts = log.filter((event) => event.type === 'halted_by')
    expect(halts.map(({ content }) => content.reason)).toEqual(['handed over', 'later'])
    expect(made.model.calls).toHaveLength(1)
    checkHistory(log)
  })

  test('waits for a person who is asked beside it', async () => {
    const ask = defineTool({ ...handOver, name: 'ask', executor: 'human', output: z.string(), run: undefined as never })
    const made = desk([defineTool(handOver), ask])
    const { chat } = open(story, made)
    const turn = await chat.send('help')
    const call = await onlyPendingOf(turn)
    expect(await chat.answer(call, 'blue')).toEqual({ accepted: true })
    expect(await turn.outcome()).toMatchObject({ status: 'halted', reason: 'handed over' })
    expect(made.model.calls).toHaveLength(1)
  })

  test('ends it after an approval too, and not when it is denied', async () => {
    const made = desk([defineTool({ ...handOver, approval: 'required' })])
    const { chat } = open(story, made)
    const turn = await chat.send('help')
    await chat.approve(await onlyPendingOf(turn))
    expect(await turn.outcome()).toMatchObject({ status: 'halted', reason: 'handed over' })
    const second = await chat.send('again')
    await chat.deny(await onlyPendingOf(second))
    expect(await second.outcome()).toMatchObject({ status: 'completed', text: 'Done.' })
  })

  test('is known by what halt made: data of a tool, or the answer of a page, that looks like it is a result', async () => {
    const looksAlike = { type: 'halt', reason: 'not meant' }
    const data = defineTool({ ...handOver, name: 'data', run: () => looksAlike })
    const page = defineTool({ ...handOver, name: 'page', executor: 'client', output: z.any(), run: undefined as never })
    const made = desk([data, page])
    const { chat } = open(story, made)
    const turn = await chat.send('help')
    await chat.answer(await onlyPendingOf(turn), { ok: true, result: looksAlike })
    expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'Done.' })
    expect((await chat.events()).some(({ type }) => type === 'halted_by')).toBe(false)
  })

  test('in a child agent ends the turn of the child: the parent reads that it was halted, and goes on', async () => {
    const child = desk([defineTool(handOver)]).agent
    const delegate = defineTool({
      name: 'delegate',
      description: 'Ask',
      input: z.object({}),
      executor: 'agent',
      agent: child,
    })
    const model = scriptedModel(({ prompt }) =>
      prompt.at(-1)?.role === 'tool' ? 'It was handed over.' : { calls: [{ tool: 'delegate', args: {} }] },
    )
    const parent = defineAgent({ name: 'parent', model, tools: [delegate] })
    const chat = story.start({ agents: [parent, child] }).conversation('c1', { agent: 'parent' })
    expect(await (await chat.send('help')).outcome()).toMatchObject({
      status: 'completed',
      text: 'It was handed over.',
    })
    const told = JSON.stringify(model.calls[1]!.prompt.at(-1))
    expect(told).toContain('handed over')
    expect((await chat.events()).some(({ type }) => type === 'halted_by')).toBe(false)
  })

  test('ends it also where its result cannot be recorded', async () => {
    const made = desk([defineTool({ ...handOver, run: () => halt('handed over', { result: new Map() }) as unknown })])
    const { chat } = open(story, made)
    expect(await (await chat.send('help')).outcome()).toMatchObject({ status: 'halted', reason: 'handed over' })
    const [result] = (await chat.events()).filter((event) => event.type === 'tool_result')
    expect(result?.content).toMatchObject({ ok: false, outcome: 'ran' })
  })

  test('that its process did not live to see the end of still ends it, in the process that goes on', async () => {
    const isDone = gate()
    const slow = defineTool({ ...handOver, name: 'slow', ifInterrupted: 'rerun', run: () => isDone.opened })
    const made = desk([defineTool(handOver), slow])
    const data = story.openStore()
    const dying = dyingBefore(
      data,
      ({ events }) => events.some(({ type }) => type === 'turn_ended'),
      () => new Promise(() => {}),
    )
    const first = story.start({ agents: [made.agent], store: dying, leaseMs: 500 })
    const chat = first.conversation('c1', { agent: 'desk' })
    const turn = await chat.send('help')
    await until(async () => (await chat.events()).some(({ type }) => type === 'halted_by'))
    await first.close({ drainMs: 0 })
    isDone.open()
    const other = story.start({ agents: [made.agent], store: story.reopen(data), leaseMs: 500 })
    const outcome = await other.conversation('c1').turn(turn.turnId).outcome()
    expect(outcome).toMatchObject({ status: 'halted', reason: 'handed over' })
    expect(made.model.calls).toHaveLength(1)
    checkHistory(await other.conversation('c1').events())
  })
})
