import { expectTypeOf } from 'vitest'
import { z } from 'zod'
import type { FlowStanding } from '../engine/flow/flow-state.ts'
import type { FlowSession } from '../runtime/flow-session.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { defineFlow } from './define-flow.ts'

declare const runtime: Runtime

const order = defineFlow({
  name: 'order',
  version: 1,
  input: z.object({ amount: z.number(), currency: z.string().default('EUR') }),
  run: async (flow, input) => {
    // What the schema gives out, not what it takes in.
    expectTypeOf(input).toEqualTypeOf<{ amount: number; currency: string }>()
    const answer = await flow.suspend('ok?', { schema: z.object({ ok: z.boolean() }) })
    expectTypeOf(answer).toEqualTypeOf<{ ok: boolean }>()
    const step = await flow.step('charge', { input: input.amount }, ({ id, signal }) => {
      expectTypeOf(id).toEqualTypeOf<string>()
      expectTypeOf(signal).toEqualTypeOf<AbortSignal>()
      return { at: new Date(), cents: 5 }
    })
    // As it was recorded.
    expectTypeOf(step).toEqualTypeOf<{ at: string; cents: number }>()
    expectTypeOf(await flow.sleep(5)).toEqualTypeOf<void>()
    expectTypeOf((await flow.agent('editor', { message: 'hi' })).text).toEqualTypeOf<string>()
    if (input.amount === 0) return flow.continueAs({ amount: 1 })
    return { paid: step.cents, on: new Date() }
  },
})

const session = runtime.flow(order, 's1')
expectTypeOf(session).toEqualTypeOf<
  FlowSession<{ amount: number; currency?: string | undefined }, { paid: number; on: string }>
>()
expectTypeOf(session.start({ amount: 5 })).resolves.toEqualTypeOf<FlowStanding<{ paid: number; on: string }>>()
expectTypeOf(session.result()).resolves.toEqualTypeOf<{ paid: number; on: string } | null>()

// @ts-expect-error the input must fit
void session.start({ amount: 'much' })

// @ts-expect-error a step needs a function
defineFlow({ name: 'f', version: 1, run: (flow) => flow.step('a', { input: 1 }) })

// @ts-expect-error a flow needs a version
defineFlow({ name: 'f', run: async () => 1 })
