import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { gate } from './gate.ts'
import { overStores } from './over-stores.ts'
import { toolResults } from './tool-results.ts'
import { until } from './until.ts'

vi.setConfig({ testTimeout: 20_000 })

/** A tool that says when it runs and returns when the story lets it, whatever its signal says. */
function digger() {
  const started = gate<AbortSignal>()
  const finish = gate<string>()
  const dig = defineTool({
    name: 'dig',
    description: 'Dig',
    input: z.object({}),
    run: (_, { signal }) => {
      started.open(signal)
      return finish.opened
    },
  })
  const model = scriptedModel(({ n }) => (n === 1 ? { calls: [{ tool: 'dig', args: {} }] } : 'Done.'))
  return { agent: defineAgent({ name: 'digger', model, tools: [dig] }), model, started, finish }
}

overStores('the signal of a running tool', (story) => {
  test('is aborted when the turn is cancelled, and the cancel does not wait for the tool', async () => {
    const { agent, started, finish, model } = digger()
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'digger' })
    const turn = await chat.send('dig')
    const signal = await started.opened
    expect(await chat.cancel()).toMatchObject({ status: 'cancelled', turnId: turn.turnId })
    expect(signal.aborted).toBe(true)
    finish.open('a hole')
    expect(await (await chat.send('and?')).outcome()).toMatchObject({ status: 'completed' })
    expect(toolResults(model, 2)).toEqual([
      ['dig', { type: 'error-text', value: expect.stringMatching(/^cancelled while it ran.*\(outcome: unknown\)$/) }],
    ])
  })

  test('is aborted when the runtime is closed before the tool has finished', async () => {
    const { agent, started } = digger()
    const runtime = story.start({ agents: [agent] })
    await runtime.conversation('c1', { agent: 'digger' }).send('dig')
    const signal = await started.opened
    await runtime.close({ drainMs: 0 })
    expect(signal.aborted).toBe(true)
  })

  test('is aborted when this process lets go of the conversation', async () => {
    const { agent, started } = digger()
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'digger' })
    await chat.send('dig')
    const signal = await started.opened
    await chat.detach()
    expect(signal.aborted).toBe(true)
  })

  test('is aborted when the conversation is deleted', async () => {
    const { agent, started } = digger()
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'digger' })
    await chat.send('dig')
    const signal = await started.opened
    await chat.delete()
    await until(() => signal.aborted)
  })

  test('is left alone when the tool finishes by itself', async () => {
    const { agent, started, finish } = digger()
    const turn = await story
      .start({ agents: [agent] })
      .conversation('c1', { agent: 'digger' })
      .send('dig')
    const signal = await started.opened
    finish.open('a hole')
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(signal.aborted).toBe(false)
  })
})
