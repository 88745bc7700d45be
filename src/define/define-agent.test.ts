import { expect, test } from 'vitest'
import { z } from 'zod'
import { isAgent } from './agent.ts'
import { preHook } from './create-hook.ts'
import { defineAgent } from './define-agent.ts'
import { defineTool } from './define-tool.ts'
import type { LanguageModel } from './language-model.ts'

const model: LanguageModel = {
  specificationVersion: 'v4',
  provider: 'test',
  modelId: 'none',
  supportedUrls: {},
  doGenerate: () => Promise.reject(new Error('not called')),
  doStream: () => Promise.reject(new Error('not called')),
}
const find = defineTool({ name: 'find', description: 'Find', input: z.object({}), run: () => 1 })
const ask = defineTool({ name: 'ask', description: 'Ask', input: z.object({}), executor: 'human', output: z.string() })

test('an agent has defaults for everything but its name and model', () => {
  expect(defineAgent({ name: 'support', model })).toEqual({
    name: 'support',
    model,
    fallbackModels: [],
    settings: {},
    instructions: '',
    tools: [],
    toolSet: new Map(),
    toolSources: [],
    hooks: [],
    transformChunk: null,
    output: null,
    outputJsonSchema: null,
    untilTool: null,
    maxSteps: 20,
    maxTokens: null,
    maxParallelCalls: 8,
    maxDepth: 4,
    maxRegenerations: 2,
    hookTimeoutMs: 5_000,
    afterHooks: [],
    reveal: 'live',
    timeouts: { firstChunkMs: 240_000, betweenChunksMs: 240_000, totalMs: 1_800_000 },
    retry: { maxAttempts: 3, baseMs: 500, maxMs: 8_000 },
    context: {
      workingBudget: 30_000,
      ceiling: null,
      injectionReserve: 4_000,
      windowTurns: 40,
      retention: { mode: 'age', value: 6 },
      summarise: { model: null, instructions: null },
      tokenizer: null,
    },
    audit: 'off',
    title: null,
    state: null,
    account: null,
    limits: { turns: null },
  })
})

test('what is given is kept beside the defaults', () => {
  const agent = defineAgent({
    name: 'support',
    model,
    tools: [find, ask],
    untilTool: 'ask',
    retry: { maxAttempts: 1 },
    context: { windowTurns: 3, summarise: false, retention: 'never' },
    title: { instructions: 'Short.' },
    output: z.object({ score: z.number() }),
  })
  expect(agent.retry).toEqual({ maxAttempts: 1, baseMs: 500, maxMs: 8_000 })
  expect(agent.context).toMatchObject({ windowTurns: 3, workingBudget: 30_000, summarise: false, retention: 'never' })
  expect(agent.title).toEqual({ model: null, instructions: 'Short.' })
  expect(agent.outputJsonSchema).toMatchObject({ type: 'object', required: ['score'] })
  expect([...agent.toolSet.keys()]).toEqual(['find', 'ask'])
  expect(defineAgent({ name: 'a', model, retry: false, title: true })).toMatchObject({
    retry: false,
    title: { model: null },
  })
})

test('an agent cannot be changed, also not through the lists it was made from', () => {
  const tools = [find]
  const agent = defineAgent({ name: 'support', model, tools })
  tools.pop()
  expect(agent.tools).toEqual([find])
  expect(Object.isFrozen(agent) && Object.isFrozen(agent.tools) && Object.isFrozen(agent.context)).toBe(true)
})

test('a hook may be given as what createHook takes', () => {
  const run = () => undefined
  const agent = defineAgent({ name: 'a', model, hooks: [preHook('x', run), { name: 'y', phase: 'post', run }] })
  expect(agent.hooks.map(({ name, mode }) => [name, mode])).toEqual([
    ['x', 'sequential'],
    ['y', 'sequential'],
  ])
})

test('an agent is known as one', () => {
  expect(isAgent(defineAgent({ name: 'support', model }))).toBe(true)
  expect(isAgent({ name: 'support' })).toBe(false)
})

const good = { name: 'support', model }

test.each([
  ['nothing', undefined, /must be an object/],
  ['no name', { model }, /The name is undefined/],
  ['an empty name', { model, name: '' }, /The name is empty/],
  ['no model', { name: 'a' }, /'model' must be an AI SDK language model of specification v3 or v4/],
  ['the name of a model', { name: 'a', model: 'openai/gpt' }, /not its name/],
  ['a model of an older specification', { name: 'a', model: { ...model, specificationVersion: 'v2' } }, /v3 or v4/],
  ['fallbacks that are no models', { ...good, fallbackModels: ['x'] }, /each of 'fallbackModels'/],
  ['instructions of another kind', { ...good, instructions: 7 }, /'instructions' must be a string or a function/],
  ['two tools of one name', { ...good, tools: [find, find, ask, ask] }, /several tools named 'find'.*named 'ask'/],
  ['a tool that is not defined', { ...good, tools: [{ name: 'x' }] }, /tools\[0\] was not made by defineTool/],
  ['tools as an object', { ...good, tools: { find } }, /fromAiSdkTools/],
  ['an unknown untilTool', { ...good, tools: [find], untilTool: 'fnd' }, /'untilTool'.*fnd \(available: find\)/],
  ['an untilTool without tools', { ...good, untilTool: 'find' }, /it has no tools/],
  [
    'a choice of an unknown tool',
    { ...good, tools: [find], settings: { toolChoice: { type: 'tool', toolName: 'x' } } },
    /'settings\.toolChoice' names no tool of this agent: x/,
  ],
  ['an unknown setting', { ...good, settings: { temprature: 1 } }, /'settings': unknown key 'temprature'/],
  ['an unknown key', { ...good, maxStep: 3 }, /unknown key 'maxStep' \(known: .*maxSteps/],
  ['no steps', { ...good, maxSteps: 0 }, /'maxSteps' must be a whole number of at least 1, not 0/],
  ['half a step', { ...good, maxSteps: 1.5 }, /'maxSteps'/],
  ['a text for a number', { ...good, maxParallelCalls: '8' }, /'maxParallelCalls'/],
  ['a hook that is none', { ...good, hooks: [{ name: 'x', phase: 'mid', run: () => {} }] }, /hooks\[0\].*'phase'/],
  [
    'two hooks of one name',
    { ...good, hooks: [preHook('x', () => undefined), preHook('x', () => undefined)] },
    /several hooks named 'x'/,
  ],
  ['an unknown retry', { ...good, retry: { attempts: 3 } }, /'retry': unknown key 'attempts'/],
  ['no attempts', { ...good, retry: { maxAttempts: 0 } }, /'retry': 'maxAttempts'/],
  ['an unknown context', { ...good, context: { budget: 1 } }, /'context': unknown key 'budget'/],
  ['a negative reserve', { ...good, context: { injectionReserve: -1 } }, /'context': 'injectionReserve'/],
  ['a tokenizer that is none', { ...good, context: { tokenizer: 'gpt' } }, /'context': 'tokenizer'/],
  ['an unknown reveal', { ...good, reveal: 'later' }, /'reveal' must be one of live, judged, not later/],
  ['an unknown audit', { ...good, audit: 'all' }, /'audit' must be one of off, records, full, not all/],
  ['an output that is no schema', { ...good, output: 'text' }, /'output' must be/],
  ['an unknown title', { ...good, title: { prompt: 'x' } }, /'title': unknown key 'prompt'/],
])('an agent with %s is refused', (_, attributes, message) => {
  expect(() => defineAgent(attributes as never)).toThrow(message)
  expect(() => defineAgent(attributes as never)).toThrow(expect.objectContaining({ code: 'invalid_definition' }))
})
