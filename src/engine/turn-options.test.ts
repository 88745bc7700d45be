import { expect, test } from 'vitest'
import { type AgentAttributes, defineAgent } from '../define/define-agent.ts'
import { defineTool } from '../define/define-tool.ts'
import { scriptedModel } from '../testing/scripted-model.ts'
import { readData, type SendOptions, turnOptions } from './turn-options.ts'

const model = scriptedModel([])
const find = defineTool({ name: 'find', description: 'Find', input: { type: 'object' }, run: () => 1 })
const pay = defineTool({ name: 'pay', description: 'Pay', input: { type: 'object' }, run: () => 1 })
const answer = { type: 'object', properties: { a: { type: 'string' } } }
const other = { type: 'object', properties: { b: { type: 'string' } } }

function optionsOf(attributes: Partial<AgentAttributes>, options: SendOptions = {}) {
  return turnOptions(defineAgent({ name: 'helper', model, tools: [find, pay], ...attributes } as never), options)
}

test.each<[string, Partial<AgentAttributes>, SendOptions, object]>([
  ['nothing', {}, {}, {}],
  [
    'limits of the agent',
    { maxSteps: 3, maxTokens: 90, maxParallelCalls: 2 },
    {},
    { maxSteps: 3, maxTokens: 90, maxParallelCalls: 2 },
  ],
  ['lower limits', { maxSteps: 3, maxTokens: 90 }, { maxSteps: 2, maxTokens: 80 }, { maxSteps: 2, maxTokens: 80 }],
  ['higher limits', { maxSteps: 3, maxTokens: 90 }, { maxSteps: 4, maxTokens: 91 }, { maxSteps: 3, maxTokens: 90 }],
  ['limits of its own', {}, { maxSteps: 1, maxTokens: 1 }, { maxSteps: 1, maxTokens: 1 }],
  ['an answer of the agent', { output: answer }, {}, { output: answer }],
  ['an answer of its own', { output: answer }, { output: other }, { output: other }],
  ['no answer', { output: answer }, { output: false }, {}],
  ['a tool of the agent', { untilTool: 'find' }, {}, { untilTool: 'find' }],
  ['a tool of its own', { untilTool: 'find' }, { untilTool: 'pay' }, { untilTool: 'pay' }],
] as never)('a turn with %s has it written in', (_, attributes, options, expected) => {
  expect(optionsOf(attributes, options)).toStrictEqual({ maxSteps: 20, maxParallelCalls: 8, ...expected })
})

test('how deep child agents may go is written in where there are any', () => {
  const agent = defineAgent({ name: 'child', model })
  const child = defineTool({ name: 'ask', description: 'Ask', input: { type: 'object' }, executor: 'agent', agent })
  const options = optionsOf({ tools: [find, child], maxDepth: 2 } as never)
  expect(options).toStrictEqual({ maxSteps: 20, maxParallelCalls: 8, maxDepth: 2 })
})

test.each<[SendOptions, string]>([
  [{ untilTool: 'fly' }, "'untilTool' is 'fly'; the agent has find, pay"],
  [{ maxSteps: 0 }, "'maxSteps' must be a whole number of at least 1, not 0"],
  [{ maxTokens: 0 }, "'maxTokens' must be a whole number of at least 1, not 0"],
])('a turn with %j is refused', (options, problem) => {
  expect(() => optionsOf({}, options)).toThrow(problem)
})

test('data of a message may have 64 KiB as JSON', () => {
  const long = 'x'.repeat(64 * 1024 - 2)
  expect(readData(long)).toBe(long)
  expect(() => readData(`${long}x`)).toThrow("'data' has 65537 bytes of JSON; the limit is 65536")
  expect(() => readData('é'.repeat(40_000))).toThrow('has 80002 bytes')
  expect(() => readData(7n)).toThrow("'data'")
})
