import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { findTurn } from '../../src/log/state.ts'
import { type ModelScript, scriptedModel } from '../../src/testing/scripted-model.ts'
import { checkHistory } from '../log/check-history.ts'
import { overStores, type StoryContext } from './over-stores.ts'
import { pacedModel } from './paced-model.ts'

function start(story: StoryContext, script: ModelScript, attributes: object = {}) {
  const runs: string[] = []
  const tool = (name: 'search' | 'finish', result: () => unknown) =>
    defineTool({
      name,
      description: name,
      input: z.object({}),
      run: () => {
        runs.push(name)
        return result()
      },
    })
  const tools = [
    tool('search', () => 'nothing'),
    tool('finish', () => {
      if (runs.filter((name) => name === 'finish').length === 1) throw new Error('not yet')
      return 'ready'
    }),
  ]
  const model = scriptedModel(script)
  const agent = defineAgent({ name: 'seeker', model, tools, ...attributes })
  const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'seeker' })
  return { chat, model, runs }
}

const searching = { calls: [{ tool: 'search', args: {} }] }

overStores('the limits of a turn', (story) => {
  test('a model that never comes to an end is halted after maxSteps calls, its last calls run', async () => {
    const { chat, model, runs } = start(story, searching, { maxSteps: 3 })
    expect(await (await chat.send('find it')).outcome()).toMatchObject({ status: 'halted', reason: 'max_steps' })
    expect(model.calls).toHaveLength(3)
    expect(runs).toHaveLength(3)
    checkHistory(await chat.events())
  })

  test('a turn has its own maxSteps, and the next one the agent’s again', async () => {
    const { chat, model } = start(story, searching, { maxSteps: 2 })
    expect(await (await chat.send('find it', { maxSteps: 1 })).outcome()).toMatchObject({ status: 'halted' })
    expect(model.calls).toHaveLength(1)
    expect(await (await chat.send('again')).outcome()).toMatchObject({ status: 'halted' })
    expect(model.calls).toHaveLength(3)
  })

  test.each([
    ['maxSteps', { maxSteps: 3 }, { maxSteps: 40 }, { maxSteps: 3 }],
    ['maxTokens', { maxTokens: 40 }, { maxTokens: 4_000 }, { maxTokens: 40, maxSteps: 20 }],
    ['the default of maxSteps', {}, { maxSteps: 21 }, { maxSteps: 20 }],
    ['both', { maxSteps: 3, maxTokens: 40 }, { maxSteps: 2, maxTokens: 41 }, { maxSteps: 2, maxTokens: 40 }],
  ])('a caller who asks for more than the agent allows gets what it allows: %s', async (_, own, asked, recorded) => {
    const { chat, model } = start(story, searching, own)
    expect(await (await chat.send('find it', asked)).outcome()).toMatchObject({ status: 'halted' })
    expect(model.calls.length).toBeLessThanOrEqual(recorded.maxSteps ?? 20)
    const [first] = await chat.events()
    expect(first?.content).toMatchObject({ options: recorded })
  })

  test('a message that steers a turn changes none of its limits', async () => {
    const model = pacedModel()
    const agent = defineAgent({ name: 'seeker', model, maxSteps: 3 })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'seeker' })
    const turn = await chat.send('find it', { maxSteps: 2 })
    await model.called(1)
    await chat.send('hurry', { whenBusy: 'steer', maxSteps: 3, maxTokens: 1 })
    const state = (await chat.view()).log
    expect(findTurn(state, turn.turnId)?.options).toMatchObject({ maxSteps: 2 })
    expect(findTurn(state, turn.turnId)?.options.maxTokens).toBeUndefined()
  })

  test('an answer in the last step that maxSteps allows completes the turn', async () => {
    const { chat } = start(story, [searching, 'found'], { maxSteps: 2 })
    expect(await (await chat.send('find it')).outcome()).toMatchObject({ status: 'completed', text: 'found' })
  })

  test('by default a turn has twenty steps', async () => {
    const { chat, model } = start(story, searching)
    expect(await (await chat.send('find it')).outcome()).toMatchObject({ status: 'halted', reason: 'max_steps' })
    expect(model.calls).toHaveLength(20)
  })

  test('untilTool ends the turn when a call of that tool has ended well, and not before', async () => {
    const script = ({ n }: { n: number }) => ({ calls: [{ tool: n === 1 ? 'search' : 'finish', args: {} }] })
    const { chat, model, runs } = start(story, script, { untilTool: 'finish' })
    const outcome = await (await chat.send('find it')).outcome()
    expect(outcome).toMatchObject({ status: 'completed', reason: 'until_tool' })
    expect(runs).toEqual(['search', 'finish', 'finish'])
    expect(model.calls).toHaveLength(3)
  })

  test('untilTool of one turn names a tool of the agent', async () => {
    const { chat, runs } = start(story, [{ calls: [{ tool: 'search', args: {} }] }])
    await expect(chat.send('find it', { untilTool: 'fly' })).rejects.toMatchObject({ code: 'invalid_argument' })
    const outcome = await (await chat.send('find it', { untilTool: 'search' })).outcome()
    expect(outcome).toMatchObject({ status: 'completed', reason: 'until_tool' })
    expect(runs).toEqual(['search'])
  })

  test('a turn that has used up its tokens is halted before the next model call', async () => {
    const usage = { inputTokens: 40, outputTokens: 10 }
    const { chat, model } = start(story, { ...searching, usage }, { maxTokens: 120 })
    const outcome = await (await chat.send('find it')).outcome()
    expect(outcome).toMatchObject({
      status: 'halted',
      reason: 'max_tokens',
      usage: { inputTokens: 120, outputTokens: 30 },
    })
    expect(model.calls).toHaveLength(3)
  })

  test('an answer that goes over the budget is still an answer, and each turn has its own budget', async () => {
    const { chat } = start(story, { text: 'long', usage: { inputTokens: 500, outputTokens: 500 } }, { maxTokens: 100 })
    for (const text of ['one', 'two']) {
      expect(await (await chat.send(text)).outcome()).toMatchObject({ status: 'completed', text: 'long' })
    }
    expect(await (await chat.send('three', { maxTokens: 5 })).outcome()).toMatchObject({ status: 'completed' })
  })

  test('senseless limits are refused before anything is written', async () => {
    const { chat } = start(story, 'never')
    for (const options of [{ maxSteps: 0 }, { maxSteps: 1.5 }, { maxTokens: -1 }, { maxTokens: Number.NaN }]) {
      await expect(chat.send('go', options)).rejects.toMatchObject({ code: 'invalid_argument' })
    }
    expect(await chat.events()).toEqual([])
  })
})
