import { expect, test } from 'vitest'
import { z } from 'zod'
import { brandAgent } from '../../define/agent.ts'
import { defineTool } from '../../define/define-tool.ts'
import { createScope } from '../../define/scope.ts'
import type { Tool } from '../../define/tool.ts'
import { createTurn } from '../../define/turn.ts'
import { encode } from '../../log/codec.ts'
import { prepareCall } from './prepare-call.ts'

const turn = createTurn({ scope: createScope({ user: 'ada' }) })
const input = z.object({ cents: z.coerce.number().int(), note: z.string().default('none') })
const pay = { name: 'pay', description: 'Pay it', input, run: () => 'paid' }

function prepare(tool: Tool | readonly Tool[], text = '{"cents":"5"}', name?: string) {
  const tools = [tool].flat() as Tool[]
  const raw = { callId: 'c1', providerCallId: 'p1', name: name ?? tools[0]!.name, input: text }
  return prepareCall(raw, new Map(tools.map((each) => [each.name, each])), turn, {
    redact: (text) => text.replaceAll('hunter2', '***'),
  })
}

test('a call keeps the arguments of the model and the decisions of its tool', async () => {
  const tool = defineTool({ ...pay, ifInterrupted: 'rerun', timeoutMs: 100, expiresInMs: 200 })
  expect(await prepare(tool)).toEqual({
    callId: 'c1',
    providerCallId: 'p1',
    name: 'pay',
    args: { cents: '5' },
    executor: 'server',
    gated: false,
    ifInterrupted: 'rerun',
    timeoutMs: 100,
    expiresInMs: 200,
  })
})

test('no arguments at all are an empty object', async () => {
  const tool = defineTool({ ...pay, input: z.object({}) })
  expect(await prepare(tool, ' ')).toMatchObject({ args: {}, executor: 'server' })
  expect(await prepare(tool, '')).not.toHaveProperty('result')
})

test('an unknown tool becomes a result that lists the available ones', async () => {
  const hosted = defineTool({ executor: 'provider', name: 'search' })
  const call = await prepare([defineTool(pay), defineTool({ ...pay, name: 'ask' }), hosted], '{}', 'refund')
  expect(call).toMatchObject({
    name: 'refund',
    args: {},
    result: { ok: false, error: "there is no tool 'refund'; available: pay, ask" },
  })
})

test('a name no provider would take back is made usable', async () => {
  expect(await prepare(defineTool(pay), '{}', 'functions.pay now')).toMatchObject({
    name: 'functions_pay_now',
    result: { error: expect.stringContaining("'functions.pay now'") },
  })
  expect((await prepare(defineTool(pay), '{}', 'x'.repeat(500))).name).toHaveLength(64)
  expect((await prepare(defineTool(pay), '{}', '')).name).toBe('unknown')
})

test('a provider tool that the provider did not run becomes a result', async () => {
  const hosted = defineTool({ executor: 'provider', name: 'search' })
  expect(await prepare(hosted)).toMatchObject({ result: { ok: false, error: expect.stringMatching(/provider/) } })
})

test.each([
  ['text that is not JSON', '{"cents": 5'],
  ['a number no log can hold', '{"cents": 1e999}'],
  ['JSON too deep for a log', '{"cents":'.repeat(600) + '1' + '}'.repeat(600)],
])('%s becomes a result, and stays as text', async (_, text) => {
  const call = await prepare(defineTool({ ...pay, approval: 'required' }), text)
  expect(call).toMatchObject({ args: text, gated: false, result: { ok: false } })
  expect(call.result).toMatchObject({ error: expect.stringMatching(/^the arguments for 'pay' are not JSON/) })
})

test('arguments that are too large become a result, and are cut', async () => {
  const call = await prepare(defineTool(pay), JSON.stringify({ note: 'x'.repeat(2_000_000) }))
  expect(call.result).toMatchObject({ ok: false, error: expect.stringMatching(/too large/) })
  expect(encode(call).length).toBeLessThan(20_000)
})

test.each(['', 'x'])('arguments are cut between characters, so that providers still take them (%j)', async (before) => {
  const call = await prepare(defineTool(pay), JSON.stringify({ note: before + '😀'.repeat(1_000_000) }))
  expect((call.args as string).isWellFormed()).toBe(true)
})

test('arguments that fail the schema become a result that says where', async () => {
  const call = await prepare(defineTool({ ...pay, approval: 'required' }), '{"cents":"many"}')
  expect(call).toMatchObject({ args: { cents: 'many' }, gated: false, executor: 'server' })
  expect(call.result).toMatchObject({ error: expect.stringMatching(/^invalid arguments for 'pay': cents: /) })
})

test('the approval function gets the checked arguments and the turn', async () => {
  const seen: unknown[] = []
  const tool = defineTool({
    ...pay,
    approval: async (args, { scope, callId }) => {
      seen.push(args, scope.user, callId)
      return args.cents > 3
    },
  })
  expect(await prepare(tool)).toMatchObject({ gated: true, prompt: 'Pay it' })
  expect(seen).toEqual([{ cents: 5, note: 'none' }, 'ada', 'c1'])
  expect(await prepare(tool, '{"cents":1}')).toMatchObject({ gated: false })
})

test.each([
  [
    'throws',
    () => {
      throw new Error('no rules')
    },
  ],
  ['rejects', () => Promise.reject(new Error('no rules'))],
  ['returns nothing', () => undefined],
  ['returns a zero', () => 0],
])('an approval function that %s means that a person is asked', async (_, approval) => {
  expect(await prepare(defineTool({ ...pay, approval: approval as never }))).toMatchObject({ gated: true })
})

test('a call for a person carries what is asked and the schema of the answer', async () => {
  const tool = defineTool({
    name: 'ask',
    description: 'Ask the user',
    input: z.object({ question: z.string() }),
    executor: 'human',
    output: z.boolean(),
    prompt: ({ question }) => ({ question }),
    expiresInMs: 500,
  })
  expect(await prepare(tool, '{"question":"Sure?"}')).toMatchObject({
    executor: 'human',
    gated: false,
    prompt: { question: 'Sure?' },
    schema: { type: 'boolean' },
    expiresInMs: 500,
  })
})

test('a gated client call is decided on here too', async () => {
  const tool = defineTool({
    name: 'locate',
    description: 'Locate',
    input: z.object({}),
    executor: 'client',
    approval: 'required',
    output: z.number(),
  })
  expect(await prepare(tool, '{}')).toMatchObject({ executor: 'client', gated: true, schema: { type: 'number' } })
})

test('a call of a child agent has no schema and no prompt of its own', async () => {
  const tool = defineTool({ ...without(pay), executor: 'agent', agent: brandAgent({ name: 'child' }) })
  const call = await prepare(tool)
  expect(call).toMatchObject({ executor: 'agent', gated: false })
  expect(call).not.toHaveProperty('schema')
  expect(call).not.toHaveProperty('prompt')
})

function without({ run: _, ...rest }: typeof pay) {
  return rest
}

test.each([
  [
    'throws',
    () => {
      throw new Error('no')
    },
  ],
  ['is not JSON', () => new Map()],
  ['is too long', () => 'x'.repeat(100_000)],
])('a prompt that %s gives way to the description', async (_, prompt) => {
  const tool = defineTool({ ...pay, approval: 'required', prompt: prompt as never })
  expect(await prepare(tool)).toMatchObject({ prompt: 'Pay it' })
})

test('a call that may be asked about after a crash carries its prompt', async () => {
  expect(await prepare(defineTool({ ...pay, ifInterrupted: 'ask' }))).toMatchObject({ gated: false, prompt: 'Pay it' })
})

test('a tool says in one line what a call will do, from what its schema made of the arguments', async () => {
  const tool = defineTool({ ...pay, describe: ({ cents, note }) => `Pay ${cents} cents\n  (${note})` })
  expect(await prepare(tool)).toMatchObject({ description: 'Pay 5 cents (none)' })
  expect(await prepare(tool)).not.toHaveProperty('prompt')
})

test('what a tool says of a call is its prompt, unless it has one', async () => {
  const described = { ...pay, approval: 'required', describe: () => 'Pay 5 cents' } as const
  expect(await prepare(defineTool(described))).toMatchObject({ description: 'Pay 5 cents', prompt: 'Pay 5 cents' })
  const both = defineTool({ ...described, prompt: 'Really?' })
  expect(await prepare(both)).toMatchObject({ description: 'Pay 5 cents', prompt: 'Really?' })
})

test('what a tool says of a call is kept without secrets, and at most 500 characters of it', async () => {
  const telling = (told: string) => prepare(defineTool({ ...pay, describe: () => told }))
  expect(await telling('with hunter2')).toMatchObject({ description: 'with ***' })
  expect((await telling('x'.repeat(50_000_000))).description).toHaveLength(500)
  // A secret that is cut in two would not be known as one.
  expect((await telling(`${'x'.repeat(497)}hunter2`)).description).toBe(`${'x'.repeat(497)}***`)
})

test.each<[string, () => unknown]>([
  ['throws', () => JSON.parse('{') as never],
  ['returns a promise that never resolves', () => new Promise(() => {})],
  ['returns a promise that rejects', () => Promise.reject(new Error('no'))],
  ['returns a number', () => 7],
  ['returns nothing', () => undefined],
  ['returns an empty line', () => ' \n '],
  ['returns what cannot be read', () => new Proxy({}, { get: () => JSON.parse('{') as never })],
])('a call goes on without a line where describe %s', async (_, describe) => {
  const call = await prepare(defineTool({ ...pay, approval: 'required', describe: describe as () => string }))
  expect(call).toMatchObject({ gated: true, prompt: 'Pay it', args: { cents: '5' } })
  expect(call).not.toHaveProperty('description')
  expect(call).not.toHaveProperty('result')
})
