import { type } from 'arktype'
import * as v from 'valibot'
import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import type { Json } from '../base/json.ts'
import { halt, type PostHook, postHook, preHook, type ToolHalt } from './create-hook.ts'
import { defineTool } from './define-tool.ts'
import type { Tool, ToolArgs, ToolInput, ToolResultOf } from './tool.ts'
import type { Turn } from './turn.ts'

const common = { name: 'find', description: 'Find it', input: z.object({ id: z.string() }) } as const

test('arguments come from the schema, results from what run returns', () => {
  const refund = defineTool({
    name: 'refund',
    description: 'Pay back',
    input: z.object({ orderId: z.string(), cents: z.coerce.number().default(0) }),
    approval: (args) => args.cents > 100,
    run: async ({ orderId, cents }, turn) => {
      expectTypeOf(orderId).toEqualTypeOf<string>()
      expectTypeOf(cents).toEqualTypeOf<number>()
      expectTypeOf(turn).toEqualTypeOf<Turn>()
      return { orderId, at: new Date(), note: undefined as string | undefined }
    },
  })
  expectTypeOf(refund.name).toEqualTypeOf<'refund'>()
  expectTypeOf(refund.executor).toEqualTypeOf<'server'>()
  expectTypeOf<ToolArgs<typeof refund>>().toEqualTypeOf<{ orderId: string; cents: number }>()
  expectTypeOf<ToolInput<typeof refund>>().toEqualTypeOf<{ orderId: string; cents?: unknown }>()
  expectTypeOf<ToolResultOf<typeof refund>>().toEqualTypeOf<{ orderId: string; at: string; note?: string }>()
  expectTypeOf(refund).toExtend<Tool>()
})

test('every schema library, and JSON Schema', () => {
  defineTool({ ...common, input: v.object({ a: v.number() }), run: ({ a }) => expectTypeOf(a).toEqualTypeOf<number>() })
  defineTool({ ...common, input: type({ a: 'number' }), run: ({ a }) => expectTypeOf(a).toEqualTypeOf<number>() })
  defineTool({
    ...common,
    input: { type: 'object', properties: { a: { type: 'number', minimum: 1 } }, minProperties: 1 },
    run: (args) => expectTypeOf(args).toEqualTypeOf<Json>(),
  })
})

test('the answer of a person or client has the type of its schema', () => {
  const ask = defineTool({ ...common, executor: 'human', output: z.object({ ok: z.boolean() }) })
  expectTypeOf<ToolResultOf<typeof ask>>().toEqualTypeOf<{ ok: boolean }>()
  const locate = defineTool({
    ...common,
    executor: 'client',
    approval: 'required',
    output: z.object({ lat: z.number() }),
  })
  expectTypeOf<ToolResultOf<typeof locate>>().toEqualTypeOf<{ lat: number }>()
  expectTypeOf(locate.executor).toEqualTypeOf<'client'>()
})

test('the executor tells what a tool has', () => {
  const use = (tool: Tool): unknown => {
    switch (tool.executor) {
      case 'server':
        return tool.run
      case 'human':
      case 'client':
        return tool.output
      case 'agent':
        return tool.agent.name
      case 'provider':
        return tool.providerTool
    }
  }
  expectTypeOf(use).toBeFunction()
})

test('wrong combinations do not compile', () => {
  const run = () => 1
  const output = z.string()
  const agent = { name: 'child' }
  const never = (): void => {
    // @ts-expect-error a server tool needs run
    defineTool({ ...common })
    // @ts-expect-error output is for those who answer
    defineTool({ ...common, run, output })
    // @ts-expect-error a human tool needs output
    defineTool({ ...common, executor: 'human' })
    // @ts-expect-error a human tool has no run
    defineTool({ ...common, executor: 'human', output, run })
    // @ts-expect-error a person who is asked need not approve of being asked
    defineTool({ ...common, executor: 'human', output, approval: 'required' })
    // @ts-expect-error a client tool needs output
    defineTool({ ...common, executor: 'client' })
    // @ts-expect-error a client tool is never interrupted here
    defineTool({ ...common, executor: 'client', output, ifInterrupted: 'rerun' })
    // @ts-expect-error what the host runs is not gated
    defineTool({ ...common, executor: 'provider', approval: 'required' })
    // @ts-expect-error an agent tool needs agent
    defineTool({ ...common, executor: 'agent' })
    // @ts-expect-error an agent tool is not run here
    defineTool({ ...common, executor: 'agent', agent, run })
    // @ts-expect-error there is no such executor
    defineTool({ ...common, executor: 'browser', output })
  }
  expectTypeOf(never).toBeFunction()
})

test('a tool that may end the turn has the result of its halt as its result', () => {
  const either = defineTool({
    ...common,
    run: ({ id }) =>
      id === '' ? halt('nothing to find', { result: { found: 0 } }) : { found: id.length, at: new Date() },
  })
  expectTypeOf<ToolResultOf<typeof either>>().toEqualTypeOf<{ found: number } | { found: number; at: string }>()
  const always = defineTool({ ...common, run: async () => halt('done') })
  expectTypeOf<ToolResultOf<typeof always>>().toEqualTypeOf<null>()
  const plain = defineTool({ ...common, run: (): unknown => halt('done') })
  expectTypeOf<ToolResultOf<typeof plain>>().toEqualTypeOf<Json>()
  expectTypeOf(halt('done', { result: 7 })).toEqualTypeOf<ToolHalt<number>>()
})

test('a hook has no result to give', () => {
  expectTypeOf(postHook('guard', () => halt('no', { show: true }))).toEqualTypeOf<PostHook>()
  // @ts-expect-error 'result' is for tools
  postHook('guard', () => halt('no', { result: 1 }))
  // @ts-expect-error 'result' is for tools
  preHook('guard', () => halt('no', { result: 1 }))
  // @ts-expect-error one or the other
  halt('no', { show: true, result: 1 })
})
