import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { overStores } from './over-stores.ts'
import { toolCalls, toolResults } from './tool-results.ts'

const input = z.object({ city: z.string(), days: z.number().int().default(1) })

/** A model that makes these calls and then says that it is done. */
function weatherAgent(calls: readonly { tool: string; args: unknown }[]) {
  const runs: unknown[] = []
  const asked: unknown[] = []
  const forecast = defineTool({
    name: 'forecast',
    description: 'Tell the weather',
    input,
    approval: (args) => {
      asked.push(args)
      return false
    },
    run: (args) => {
      runs.push(args)
      return `sunny in ${args.city}`
    },
  })
  const noon = defineTool({
    name: 'noon',
    description: 'Tell when it is noon',
    input: z.object({}),
    run: () => '12:00',
  })
  const model = scriptedModel([{ calls }, 'Done.'])
  return { agent: defineAgent({ name: 'weather', model, tools: [forecast, noon] }), model, runs, asked }
}

const error = (value: unknown) => ({ type: 'error-text', value })

overStores('a call that cannot be made', (story) => {
  test('an unknown tool is answered with the tools that there are', async () => {
    const { agent, model, runs } = weatherAgent([{ tool: 'weather', args: { city: 'Oslo' } }])
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'weather' })
    const turn = await chat.send('weather?')
    expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'Done.' })
    expect(toolResults(model, 2)).toEqual([['weather', error("there is no tool 'weather'; available: forecast, noon")]])
    expect(runs).toEqual([])
  })

  test('a made-up name that no provider would take back is cleaned in the next prompt', async () => {
    const { agent, model } = weatherAgent([{ tool: 'weather in Oslo?', args: {} }])
    const turn = await story
      .start({ agents: [agent] })
      .conversation('c1', { agent: 'weather' })
      .send('weather?')
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(toolResults(model, 2)).toEqual([
      ['weather_in_Oslo_', error("there is no tool 'weather in Oslo?'; available: forecast, noon")],
    ])
  })

  test('arguments that are not JSON are shown to the model as it sent them, with what is wrong', async () => {
    const { agent, model, runs, asked } = weatherAgent([{ tool: 'forecast', args: '{"city": "Oslo"' }])
    const turn = await story
      .start({ agents: [agent] })
      .conversation('c1', { agent: 'weather' })
      .send('weather?')
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(toolCalls(model, 2)).toEqual([['forecast', { input: '{"city": "Oslo"' }]])
    expect(toolResults(model, 2)).toEqual([
      ['forecast', error(expect.stringContaining("the arguments for 'forecast' are not JSON"))],
    ])
    expect([runs, asked]).toEqual([[], []])
  })

  test('arguments that fail the schema are answered with the place and the reason, and no approval is requested', async () => {
    const { agent, model, runs, asked } = weatherAgent([{ tool: 'forecast', args: { city: 7, days: 'many' } }])
    const turn = await story
      .start({ agents: [agent] })
      .conversation('c1', { agent: 'weather' })
      .send('weather?')
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(toolResults(model, 2)).toEqual([
      ['forecast', error(expect.stringMatching(/^invalid arguments for 'forecast': city: .*string.*; days: .*number/))],
    ])
    expect([runs, asked]).toEqual([[], []])
  })

  test('the other calls of the message run all the same, and each has its own result', async () => {
    const { agent, model, runs } = weatherAgent([
      { tool: 'forecast', args: '[' },
      { tool: 'forecast', args: { city: 'Oslo' } },
      { tool: 'nothing', args: {} },
      { tool: 'noon', args: '' },
    ])
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'weather' })
    const turn = await chat.send('weather?')
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(toolResults(model, 2)).toEqual([
      ['forecast', error(expect.stringContaining('not JSON'))],
      ['forecast', { type: 'text', value: 'sunny in Oslo' }],
      ['nothing', error(expect.stringContaining("no tool 'nothing'"))],
      ['noon', { type: 'text', value: '12:00' }],
    ])
    // The schema's defaults are in what the tool gets.
    expect(runs).toEqual([{ city: 'Oslo', days: 1 }])
    const types = (await chat.events()).map((event) => event.type)
    expect(types.filter((type) => type === 'tool_call')).toHaveLength(4)
    expect(types.filter((type) => type === 'tool_result')).toHaveLength(4)
    expect(types.filter((type) => type === 'tool_started')).toHaveLength(2)
  })

  test('calls that the provider gives the same id stay apart', async () => {
    const model = scriptedModel([
      {
        calls: [
          { tool: 'echo', args: { text: 'a' }, id: 'same' },
          { tool: 'echo', args: { text: 'b' }, id: 'same' },
        ],
      },
      { calls: [{ tool: 'echo', args: { text: 'c' }, id: 'same' }] },
      'Done.',
    ])
    const echo = defineTool({
      name: 'echo',
      description: 'Say it again',
      input: z.object({ text: z.string() }),
      run: ({ text }) => text,
    })
    const agent = defineAgent({ name: 'parrot', model, tools: [echo] })
    const turn = await story
      .start({ agents: [agent] })
      .conversation('c1', { agent: 'parrot' })
      .send('hi')
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(toolResults(model, 3).map(([, output]) => output)).toEqual(
      ['a', 'b', 'c'].map((value) => ({ type: 'text', value })),
    )
  })
})
