import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import type { Agent, AgentOutput, AgentTools } from './agent.ts'
import { postHook, preHook } from './create-hook.ts'
import { defineAgent } from './define-agent.ts'
import { defineTool } from './define-tool.ts'
import type { LanguageModel, ModelChooser } from './language-model.ts'
import { shape } from './shape.ts'
import type { Turn } from './turn.ts'

declare const model: LanguageModel

const find = defineTool({ name: 'find', description: 'Find', input: z.object({ id: z.string() }), run: () => 1 })
const ask = defineTool({
  name: 'ask',
  description: 'Ask',
  input: z.object({ question: z.string() }),
  executor: 'human',
  output: z.string(),
})

const define = () =>
  defineAgent({
    name: 'support',
    model,
    instructions: (turn) => `You help ${turn.scope.user}`,
    tools: [find, ask],
    output: z.object({ score: z.number() }),
    untilTool: 'ask',
  })

test('an agent keeps its name, its tools and the type of its object', () => {
  type Support = ReturnType<typeof define>
  expectTypeOf<Support['name']>().toEqualTypeOf<'support'>()
  expectTypeOf<AgentTools<Support>['name']>().toEqualTypeOf<'find' | 'ask'>()
  expectTypeOf<AgentOutput<Support>>().toEqualTypeOf<{ score: number }>()
  expectTypeOf<Support>().toExtend<Agent>()
})

test('an agent without a schema has no object', () => {
  const plain = () => defineAgent({ name: 'plain', model })
  expectTypeOf<AgentOutput<ReturnType<typeof plain>>>().toEqualTypeOf<undefined>()
  expectTypeOf<AgentTools<ReturnType<typeof plain>>>().toEqualTypeOf<never>()
})

test('what an agent does not have does not compile', () => {
  const never = (): void => {
    // @ts-expect-error there is no such tool
    defineAgent({ name: 'a', model, tools: [find], untilTool: 'ask' })
    // @ts-expect-error there is no such setting
    defineAgent({ name: 'a', model, maxStep: 3 })
    // @ts-expect-error a model is not its name
    defineAgent({ name: 'a', model: 'anthropic/claude' })
  }
  expectTypeOf(never).toBeFunction()
})

test('a model may be chosen by a function of the turn, sync or async', () => {
  const chosen = defineAgent({
    name: 'a',
    model: (turn) => {
      expectTypeOf(turn).toEqualTypeOf<Turn>()
      return model
    },
  })
  expectTypeOf(chosen.model).toEqualTypeOf<LanguageModel | ModelChooser>()
  defineAgent({ name: 'a', model: async () => model })
  // @ts-expect-error a name is no model
  defineAgent({ name: 'a', model: () => 'gpt-5' })
})

test('a hook shapes messages of the context, or of its own', () => {
  preHook('own', (turn) => shape(turn, { messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }] }))
  preHook('less', (turn) =>
    shape(turn, { messages: turn.context.slice(1), tools: ['a'], settings: { temperature: 0 } }),
  )
  preHook('once', () => {}, { durable: true, once: 'turn', timeoutMs: 5 })
  // @ts-expect-error there is no such setting
  preHook('odd', (turn) => shape(turn, { settings: { heat: 1 } }))
  // @ts-expect-error there is no such role
  preHook('odd', (turn) => shape(turn, { messages: [{ role: 'boss', content: 'hi' }] }))
  // @ts-expect-error a parallel hook returns parts
  preHook('odd', (turn) => shape(turn, {}), { mode: 'parallel' })
  // @ts-expect-error a post-hook is too late to shape
  postHook('odd', (turn) => shape(turn, {}))
})
