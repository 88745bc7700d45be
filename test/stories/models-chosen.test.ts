import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { preHook } from '../../src/define/create-hook.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createScope } from '../../src/define/scope.ts'
import type { Turn } from '../../src/define/turn.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { overStores } from './over-stores.ts'
import { until } from './until.ts'

vi.setConfig({ testTimeout: 30_000 })

const look = defineTool({ name: 'look', description: 'Look', input: z.object({}), run: () => 'seen' })

overStores('a model that is a function of the turn', (story) => {
  const models = () => ({
    cheap: scriptedModel({ calls: [{ tool: 'look', args: {} }] }, { modelId: 'cheap' }),
    dear: scriptedModel('Done.', { modelId: 'dear' }),
  })

  test('is asked before each model call, and the message says which one wrote it', async () => {
    const { cheap, dear } = models()
    const asked: unknown[] = []
    const agent = defineAgent({
      name: 'a',
      model: async ({ scope, step, agent: name, conversationId, context }: Turn) => {
        asked.push([scope.user, name, conversationId, step, context])
        return step === 0 ? cheap : dear
      },
      tools: [look],
      audit: 'records',
    })
    const chat = story
      .start({ agents: [agent] })
      .as(createScope({ user: 'ann' }))
      .conversation('c1', { agent: 'a' })
    expect(await (await chat.send('go')).outcome()).toMatchObject({ status: 'completed', text: 'Done.' })
    expect(asked).toEqual([
      ['ann', 'a', 'c1', 0, []],
      ['ann', 'a', 'c1', 1, []],
    ])
    const written = (await chat.events()).flatMap((event) =>
      event.type === 'assistant_msg' ? [event.content.model] : [],
    )
    expect(written.map(({ modelId }) => modelId)).toEqual(['cheap', 'dear'])
    expect((await chat.modelCalls()).map(({ model }) => (model as { modelId: string }).modelId)).toEqual([
      'cheap',
      'dear',
    ])
  })

  test('has the budget of the model it chose', async () => {
    const [small, large] = ['gpt-4o', 'gpt-4.1'].map((modelId) => scriptedModel('Done.', { modelId }))
    const agent = defineAgent({
      name: 'a',
      model: (turn) => (JSON.stringify(turn.userMessage).includes('large') ? large! : small!),
      context: { workingBudget: 900_000, injectionReserve: 0, summarise: false },
      hooks: [preHook('none', () => undefined)],
    })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'a' })
    const text = 'word '.repeat(150_000)
    expect(await (await chat.send(`small ${text}`)).outcome()).toMatchObject({
      status: 'failed',
      reason: expect.stringMatching(/^context_overflow/),
    })
    expect(await (await chat.send(`large ${text}`)).outcome()).toMatchObject({ status: 'completed' })
  })

  const failing: readonly (readonly [name: string, model: () => unknown, reason: RegExp])[] = [
    ['throws', () => thrown(new Error('no tenant')), /threw Error: no tenant/],
    ['rejects', () => Promise.reject(new Error('no tenant')), /threw Error: no tenant/],
    ['returns the name of a model', () => 'gpt-5', /returned something that is not a language model/],
    ['returns nothing', () => undefined, /returned something that is not a language model/],
    ['never returns', () => new Promise(() => {}), /took longer than 30 ms/],
  ]
  for (const [name, model, reason] of failing)
    test(`fails the turn by name where it ${name}, and the next turn is asked anew`, async () => {
      let isBroken = true
      const fine = scriptedModel('Done.')
      const agent = defineAgent({ name: 'a', model: (() => (isBroken ? model() : fine)) as never, hookTimeoutMs: 30 })
      const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'a' })
      const outcome = await (await chat.send('go')).outcome()
      expect(outcome).toMatchObject({
        status: 'failed',
        reason: expect.stringMatching(/^no_model_chosen: The 'model' function of the agent 'a' /),
      })
      expect(outcome).toMatchObject({ reason: expect.stringMatching(reason) })
      isBroken = false
      expect(await (await chat.send('again')).outcome()).toMatchObject({ status: 'completed' })
    })

  test('also writes the title, with the model of the last call', async () => {
    const model = scriptedModel(({ prompt }) => (JSON.stringify(prompt).includes('title') ? 'Hats' : 'Done.'))
    const agent = defineAgent({ name: 'a', model: () => model, title: true })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'a' })
    await (await chat.send('hats')).outcome()
    await until(async () => (await chat.view()).title === 'Hats')
  })
})

function thrown(error: Error): never {
  throw error
}
