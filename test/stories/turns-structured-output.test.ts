import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { type ModelScript, scriptedModel } from '../../src/testing/scripted-model.ts'
import { overStores, type StoryContext } from './over-stores.ts'
import { linesOf, shapeOf } from './texts.ts'

const weather = z.object({ city: z.string(), degrees: z.number() })
const sunny = { city: 'Rome', degrees: 30 }

function start(story: StoryContext, script: ModelScript) {
  const model = scriptedModel(script)
  const measure = defineTool({ name: 'measure', description: 'Measure', input: z.object({}), run: () => 30 })
  const agent = defineAgent({ name: 'weather', model, output: weather, tools: [measure] })
  return { model, chat: story.start({ agents: [agent] }).conversation('c1', { agent: 'weather' }) }
}

overStores('structured output', (story) => {
  test('the turn ends with its object, which the model was asked for by its schema', async () => {
    const { chat, model } = start(story, { object: sunny })
    const outcome = await (await chat.send('Rome?')).outcome()
    expect(outcome).toMatchObject({ status: 'completed', object: sunny })
    expect(model.calls[0]!.options.responseFormat).toMatchObject({
      type: 'json',
      schema: { type: 'object', required: ['city', 'degrees'] },
    })
    const [message] = (await chat.events()).filter((event) => event.type === 'assistant_msg')
    expect(message!.content).toMatchObject({ object: sunny, status: 'complete' })
    const view = await chat.view()
    expect(view.messages.at(-1)).toMatchObject({ role: 'assistant', object: sunny })
  })

  test('an object that does not fit is asked for once more, with the reason', async () => {
    const { chat, model } = start(story, [{ object: { city: 'Rome' } }, { object: sunny }])
    expect(await (await chat.send('Rome?')).outcome()).toMatchObject({ status: 'completed', object: sunny })
    const again = linesOf(model.calls[1]!.prompt)
    expect(again).toHaveLength(2)
    expect(again[1]).toMatch(/^user: Your answer does not fit the schema: .*degrees/)
    expect(shapeOf(await chat.events())).toEqual([
      'user_msg',
      'assistant_msg complete',
      'regeneration',
      'assistant_msg complete',
      'turn_ended completed',
    ])
    expect((await chat.view()).messages).toHaveLength(2)
  })

  test('one that does not fit twice fails the turn', async () => {
    const { chat, model } = start(story, ['It is warm.', { object: { city: 7, degrees: 30 } }])
    const outcome = await (await chat.send('Rome?')).outcome()
    expect(outcome).toMatchObject({ status: 'failed', reason: 'invalid_object' })
    expect(outcome).not.toHaveProperty('object')
    expect(model.calls).toHaveLength(2)
    expect(shapeOf(await chat.events()).at(-1)).toBe('turn_ended failed')
  })

  test('after a failed object the next turn has its own second chance', async () => {
    const { chat } = start(story, ['no', 'no', 'no', { object: sunny }])
    expect(await (await chat.send('Rome?')).outcome()).toMatchObject({ status: 'failed' })
    expect(await (await chat.send('Rome?')).outcome()).toMatchObject({ status: 'completed', object: sunny })
  })

  test('tools may be called on the way to the object', async () => {
    const { chat } = start(story, [{ calls: [{ tool: 'measure', args: {} }] }, { object: sunny }])
    expect(await (await chat.send('Rome?')).outcome()).toMatchObject({ status: 'completed', object: sunny })
  })

  test('a turn may opt out of it', async () => {
    const { chat, model } = start(story, 'Warm.')
    const outcome = await (await chat.send('Rome?', { output: false })).outcome()
    expect(outcome).toMatchObject({ status: 'completed', text: 'Warm.' })
    expect(outcome.status === 'completed' && outcome.object).toBeUndefined()
    expect(model.calls[0]!.options.responseFormat).toBeUndefined()
  })

  test('a turn may have a schema of its own, also a JSON Schema', async () => {
    const { chat } = start(story, [{ object: { isRaining: false } }, { object: [1, 2] }])
    const rain = await (await chat.send('rain?', { output: z.object({ isRaining: z.boolean() }) })).outcome()
    expect(rain).toMatchObject({ status: 'completed', object: { isRaining: false } })
    const list = await (await chat.send('list', { output: { type: 'array', items: { type: 'number' } } })).outcome()
    expect(list).toMatchObject({ status: 'completed', object: [1, 2] })
  })

  test('objects that are false, zero, empty or null are objects', async () => {
    for (const [n, object] of [false, 0, '', null].entries()) {
      const { chat } = start(story, { object })
      const outcome = await (await chat.send(`${n}`, { output: {} })).outcome()
      expect(outcome).toMatchObject({ status: 'completed', object })
    }
  })
})
