import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { defineTool } from '../define/define-tool.ts'
import { type BuiltinScope, createScope, type Scope, systemScope } from '../define/scope.ts'
import type { Runtime, RuntimeOptions } from '../runtime/runtime.ts'

// What an app that has registered its own type gets is in `registered-scope.test.ts`: a registration holds for a whole program.

declare const runtime: Runtime

test('without a registration everybody who acts is a built-in scope', () => {
  expectTypeOf<Scope>().toEqualTypeOf<BuiltinScope>()
  expectTypeOf<Parameters<Runtime['as']>>().toEqualTypeOf<[scope: BuiltinScope]>()
  const never = () => {
    runtime.as(createScope({ user: 'ann' }))
    runtime.as(systemScope('acme'))
    // @ts-expect-error a name is not a scope
    runtime.as('ann')
    // @ts-expect-error there is no such attribute
    runtime.as(createScope({ userId: 'ann' }))
  }
  expectTypeOf(never).toBeFunction()
})

test('tools, and what a runtime asks about a scope, have that type', () => {
  defineTool({
    name: 'who',
    description: 'Who',
    input: z.object({}),
    approval: (_, turn) => {
      expectTypeOf(turn.scope).toEqualTypeOf<BuiltinScope>()
      return true
    },
    run: (_, turn) => expectTypeOf(turn.scope.user).toEqualTypeOf<string | undefined>(),
  })
  expectTypeOf<NonNullable<RuntimeOptions['tenant']>>().toEqualTypeOf<(scope: BuiltinScope) => string>()
  expectTypeOf<NonNullable<RuntimeOptions['who']>>().toEqualTypeOf<(scope: BuiltinScope) => string>()
  expectTypeOf<NonNullable<RuntimeOptions['restoreScope']>>().toEqualTypeOf<
    (tenant: string, who: string) => BuiltinScope | Promise<BuiltinScope>
  >()
})
