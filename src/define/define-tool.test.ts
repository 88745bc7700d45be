import { expect, test } from 'vitest'
import { z } from 'zod'
import { brandAgent } from './agent.ts'
import { defineTool } from './define-tool.ts'
import { systemScope } from './scope.ts'
import { createTurn } from './turn.ts'

const common = { name: 'find', description: 'Find it', input: z.object({ id: z.string() }) }
const run = () => 1
const output = z.string()
const agent = brandAgent({ name: 'child' })
const turn = createTurn({ scope: systemScope() })

test('a tool is run on the server unless told, and has defaults for the rest', () => {
  expect(defineTool({ ...common, run })).toMatchObject({
    name: 'find',
    executor: 'server',
    ifInterrupted: 'report',
    timeoutMs: null,
    expiresInMs: null,
    retention: null,
    inputJsonSchema: { type: 'object', properties: { id: { type: 'string' } } },
  })
})

test('a tool cannot be changed', () => {
  expect(Object.isFrozen(defineTool({ ...common, run }))).toBe(true)
})

test.each([
  ['auto', false],
  ['required', true],
  [(args: { id: string }) => args.id === 'big', true],
  [undefined, false],
] as const)('approval %s gates a call: %s', (approval, gated) => {
  const tool = defineTool({ ...common, run, ...(approval ? { approval } : {}) })
  expect(tool.isGated({ id: 'big' }, turn)).toBe(gated)
})

test('a person is shown the description, a text, or what a function makes of the arguments', () => {
  expect(defineTool({ ...common, run }).prompt({ id: '7' }, turn)).toBe('Find it')
  expect(defineTool({ ...common, run, prompt: 'Shall I?' }).prompt({ id: '7' }, turn)).toBe('Shall I?')
  expect(defineTool({ ...common, run, prompt: ({ id }) => ({ id }) }).prompt({ id: '7' }, turn)).toEqual({ id: '7' })
})

test('those who answer are told the schema of the answer', () => {
  expect(defineTool({ ...common, executor: 'human', output })).toMatchObject({ outputJsonSchema: { type: 'string' } })
  expect(defineTool({ ...common, executor: 'client', output })).toMatchObject({ outputJsonSchema: { type: 'string' } })
})

test('a tool of the provider needs a name and nothing else', () => {
  expect(defineTool({ executor: 'provider', name: 'web_search' })).toMatchObject({
    providerTool: { id: null, args: {} },
  })
  const named = defineTool({ executor: 'provider', name: 'search', id: 'anthropic.web_search', args: { maxUses: 2 } })
  expect(named.providerTool).toEqual({ id: 'anthropic.web_search', args: { maxUses: 2 } })
})

test('an agent can be a tool', () => {
  expect(defineTool({ ...common, executor: 'agent', agent, approval: 'required' }).agent.name).toBe('child')
})

test('input without a type is that of an object', () => {
  const input = { anyOf: [{ properties: { a: {} } }, { properties: { b: {} } }] }
  expect(defineTool({ ...common, input, run }).inputJsonSchema).toEqual({ ...input, type: 'object' })
})

test.each([
  ['not an object', undefined, /must be an object/],
  ['an unknown executor', { ...common, executor: 'browser' }, /'executor' must be one of server, human.*'browser'/],
  ['a name that providers refuse', { ...common, name: 'find it', run }, /'name' must be 1 to 64 of/],
  ['a name that is too long', { ...common, name: 'a'.repeat(65), run }, /'name'/],
  ['no description', { ...common, description: '', run }, /'description' must tell the model/],
  ['no input', { name: 'a', description: 'b', run }, /'input' must be a Standard Schema/],
  ['input that is not an object', { ...common, input: z.string(), run }, /must describe an object.*"string"/],
  ['no run on the server', common, /'run' is needed for executor 'server'/],
  ['output on the server', { ...common, run, output }, /'output' is not for executor 'server' but for human, client/],
  ['no output from a person', { ...common, executor: 'human' }, /'output'.*is needed for executor 'human'/],
  ['a run by a person', { ...common, executor: 'human', output, run }, /'run' is not for executor 'human'/],
  [
    'an approval of asking a person',
    { ...common, executor: 'human', output, approval: 'required' },
    /'approval' is not for executor 'human' but for server, client, agent/,
  ],
  ['no output from a client', { ...common, executor: 'client' }, /'output'.*is needed for executor 'client'/],
  ['a client that reruns', { ...common, executor: 'client', output, ifInterrupted: 'rerun' }, /'ifInterrupted' is not/],
  ['an approval of what the host runs', { ...common, executor: 'provider', approval: 'auto' }, /'approval' is not for/],
  ['a provider id without a provider', { executor: 'provider', name: 'a', id: 'search' }, /'id' must be/],
  ['no agent', { ...common, executor: 'agent' }, /'agent', made by defineAgent, is needed/],
  ['an agent that is none', { ...common, executor: 'agent', agent: { name: 'child' } }, /'agent', made by defineAgent/],
  ['an unknown approval', { ...common, run, approval: 'always' }, /'approval' must be 'auto', 'required' or/],
  ['an unknown ifInterrupted', { ...common, run, ifInterrupted: 'retry' }, /report, rerun, ask, not 'retry'/],
  ['a timeout of nothing', { ...common, run, timeoutMs: 0 }, /'timeoutMs' must be a whole number/],
  ['an expiry in a fraction', { ...common, run, expiresInMs: 1.5 }, /'expiresInMs' must be/],
  ['an expiry past a hundred years', { ...common, run, expiresInMs: 1e13 }, /'expiresInMs' must be/],
  ['an unknown retention', { ...common, run, retention: { mode: 'size', value: 3 } }, /'retention' must be 'never' or/],
  [
    'an answer described at great length',
    { ...common, executor: 'human', output: { description: 'x'.repeat(300_000) } },
    /'output' has 300018 bytes/,
  ],
  ['an unknown key', { ...common, run, timeout: 5 }, /unknown key 'timeout' \(known: name, description/],
  ['a schema models cannot be told', { ...common, input: z.object({ at: z.date() }), run }, /JSON Schema/],
])('a tool with %s is refused', (_, attributes, message) => {
  expect(() => defineTool(attributes as never)).toThrow(message)
})

test('everything that is wrong with a tool is told at once', () => {
  expect(() => defineTool({ name: '', timeoutMs: -1 } as never)).toThrow(
    /'name'.*'description'.*'input'.*'run'.*'timeoutMs'/,
  )
})
