import { dynamicTool, jsonSchema, tool } from 'ai'
import { expect, expectTypeOf, test, vi } from 'vitest'
import { z } from 'zod'
import { systemClock } from '../base/clock.ts'
import type { Json } from '../base/json.ts'
import { modelTools, prepareCall } from '../engine/turn/prepare-call.ts'
import { runTool } from '../engine/turn/tool-task.ts'
import { fromAiSdkTools } from './from-ai-sdk-tools.ts'
import { createScope } from './scope.ts'
import type { Tool, ToolArgs, ToolResultOf } from './tool.ts'
import { createTurn } from './turn.ts'

const scope = createScope({ user: 'ada' })
const reportProgress = vi.fn()
const turn = createTurn({ scope, callId: 'c1', reportProgress })

function execute(given: Tool | undefined, args: Json) {
  if (given?.executor !== 'server') throw new Error('not a server tool')
  return runTool(given, args, turn, { timeoutMs: null, signal: turn.signal, clock: systemClock })
}

function prepare(given: Tool, input: Json) {
  const raw = { callId: 'c1', providerCallId: 'p1', name: given.name, input: JSON.stringify(input) }
  return prepareCall(raw, new Map([[given.name, given]]), turn, { redact: (text) => text })
}

const weather = tool({
  description: 'The weather of a city',
  inputSchema: z.object({ city: z.string(), days: z.coerce.number().default(1) }),
  execute: async ({ city, days }) => ({ city, days, at: new Date(0) }),
})

test('a tool with execute is run here, with checked arguments', async () => {
  const [converted] = fromAiSdkTools({ weather })
  expect(converted).toMatchObject({ name: 'weather', description: 'The weather of a city', executor: 'server' })
  expect(await execute(converted, { city: 'Oslo', days: '2' })).toEqual({
    ok: true,
    result: { city: 'Oslo', days: 2, at: '1970-01-01T00:00:00.000Z' },
  })
  expect(await execute(converted, {})).toMatchObject({ ok: false, error: expect.stringMatching(/city/) })
})

test('names, arguments and results keep their types', () => {
  const [converted] = fromAiSdkTools({ weather })
  type Weather = NonNullable<typeof converted>
  expectTypeOf<Weather['name']>().toEqualTypeOf<'weather'>()
  expectTypeOf<ToolArgs<Weather>>().toEqualTypeOf<{ city: string; days: number }>()
  expectTypeOf<ToolResultOf<Weather>>().toEqualTypeOf<{ city: string; days: number; at: string }>()
})

test('execute is told the call, the signal and the scope', async () => {
  const seen: object[] = []
  const spy = tool({
    description: 'Spy',
    inputSchema: z.object({}),
    execute: async (_, options) => void seen.push(options),
  })
  await execute(fromAiSdkTools({ spy })[0], {})
  expect(seen).toEqual([
    expect.objectContaining({ toolCallId: 'c1', context: scope, abortSignal: expect.any(AbortSignal), messages: [] }),
  ])
})

test('what execute yields before its last value is progress', async () => {
  const stream = tool({
    description: 'Stream',
    inputSchema: z.object({}),
    async *execute() {
      yield 'starting'
      yield 'halfway'
      yield 'done'
    },
  })
  expect(await execute(fromAiSdkTools({ stream })[0], {})).toEqual({ ok: true, result: 'done' })
  expect(reportProgress.mock.calls).toEqual([['starting'], ['halfway']])
})

test('a tool without execute is run by the client, with any result unless it says which', async () => {
  const locate = tool({ description: 'Locate', inputSchema: z.object({}), outputSchema: z.object({ lat: z.number() }) })
  const [converted, anything] = fromAiSdkTools({ locate, anything: { inputSchema: z.object({}) } })
  expect(converted).toMatchObject({ executor: 'client', outputJsonSchema: { type: 'object' } })
  expect(anything).toMatchObject({ executor: 'client', description: 'anything', outputJsonSchema: {} })
})

test('needsApproval gates a call', async () => {
  const base = { description: 'Pay', inputSchema: z.object({ cents: z.number() }), execute: async () => 1 }
  const [always, sometimes] = fromAiSdkTools({
    always: tool({ ...base, needsApproval: true }),
    sometimes: tool({ ...base, needsApproval: async ({ cents }) => cents > 3 }),
  })
  expect(await prepare(always!, { cents: 1 })).toMatchObject({ gated: true })
  expect(await prepare(sometimes!, { cents: 1 })).toMatchObject({ gated: false })
  expect(await prepare(sometimes!, { cents: 5 })).toMatchObject({ gated: true })
})

test('a schema made by jsonSchema is used with its own check, or checked as JSON Schema', async () => {
  const schema = { type: 'object', properties: { n: { type: 'number' } } } as const
  const validate = (value: unknown) =>
    (value as { n: number }).n > 3
      ? ({ success: true, value: { n: 99 } } as const)
      : ({ success: false, error: new Error('n is too small') } as const)
  const execute_ = async (args: unknown) => args as Json
  const [own, plain, lazy] = fromAiSdkTools({
    own: dynamicTool({ description: 'a', inputSchema: jsonSchema(schema, { validate }), execute: execute_ }),
    plain: dynamicTool({ description: 'b', inputSchema: jsonSchema(schema), execute: execute_ }),
    lazy: dynamicTool({ description: 'c', inputSchema: () => jsonSchema(schema), execute: execute_ }),
  })
  expect(await execute(own, { n: 5 })).toEqual({ ok: true, result: { n: 99 } })
  expect(await execute(own, { n: 1 })).toMatchObject({ ok: false, error: expect.stringMatching(/n is too small/) })
  expect(await execute(plain, { n: 5 })).toEqual({ ok: true, result: { n: 5 } })
  expect(await execute(plain, { n: 'x' })).toMatchObject({ ok: false })
  expect(lazy).toMatchObject({ inputJsonSchema: schema })
})

test('what the model is told beside the schema comes along', () => {
  const [converted] = fromAiSdkTools({
    find: tool({
      description: 'Find',
      inputSchema: z.object({ id: z.string() }),
      strict: true,
      inputExamples: [{ input: { id: 'a' } }],
      providerOptions: { openai: { x: 1 } },
      execute: async () => 1,
    }),
  })
  expect(modelTools([converted!])).toMatchObject([
    { strict: true, inputExamples: [{ input: { id: 'a' } }], providerOptions: { openai: { x: 1 } } },
  ])
})

test('what a tool does not say is left out of what the model is told', () => {
  const [converted] = fromAiSdkTools({ find: tool({ inputSchema: z.object({}), execute: async () => 1 }) })
  expect(converted!.modelOptions).toStrictEqual({})
})

test('a tool of the provider is run where the provider says', () => {
  const hosted = { type: 'provider', id: 'anthropic.web_search', args: { maxUses: 1 }, inputSchema: z.object({}) }
  const [search, bash, shell] = fromAiSdkTools({
    search: { ...hosted, isProviderExecuted: true },
    bash: { ...hosted, id: 'anthropic.bash', isProviderExecuted: false, execute: async () => 'ok' },
    shell: { ...hosted, id: 'anthropic.shell' },
  })
  expect([search, bash, shell].map((each) => each?.executor)).toEqual(['provider', 'server', 'provider'])
  expect(modelTools([search!, bash!])).toEqual([
    { type: 'provider', name: 'search', id: 'anthropic.web_search', args: { maxUses: 1 } },
    { type: 'provider', name: 'bash', id: 'anthropic.bash', args: { maxUses: 1 } },
  ])
})

test.each([
  ['a name providers refuse', { 'a b': weather }, /'name'/],
  ['no schema', { a: { execute: async () => 1 } }, /'inputSchema' is not a schema/],
  ['an asynchronous schema', { a: { inputSchema: { jsonSchema: Promise.resolve({}) } } }, /asynchronous/],
  [
    'a description that needs more',
    { a: { ...weather, description: ({ context }: { context: { a: { b: string } } }) => context.a.b } },
    /its description needs a context/,
  ],
])('a tool with %s is refused', (_, tools, message) => {
  expect(() => fromAiSdkTools(tools as never)).toThrow(message)
})
