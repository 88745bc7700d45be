import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { askUser, type TodosState, todos } from '../extensions/index.ts'
import type { Conversation, PendingOf } from '../runtime/conversation.ts'
import type { AgentStateOf, AgentTools } from './agent.ts'
import { defineAgent, deriveAgent } from './define-agent.ts'
import { defineExtension } from './define-extension.ts'
import { defineTool } from './define-tool.ts'
import type { LanguageModel } from './language-model.ts'
import type { Turn } from './turn.ts'

declare const model: LanguageModel

const state = z.object({ plan: z.string(), count: z.number() })
const own = defineTool({ name: 'own', description: 'Own', input: z.object({ id: z.string() }), run: () => 1 })

const define = () =>
  defineAgent({
    name: 'desk',
    model,
    tools: [own],
    state,
    initialState: { plan: '', count: 0 },
    expose: ['plan'],
    instructions: (turn) => `${turn.state.plan} ${turn.state.todos.items.length}`,
    extensions: [todos(), askUser()],
    untilTool: 'tick_todo',
  })
type Desk = ReturnType<typeof define>

test('the state of an agent is that of its schema and of its extensions, under their names', () => {
  expectTypeOf<AgentStateOf<Desk>['plan']>().toEqualTypeOf<string>()
  expectTypeOf<AgentStateOf<Desk>['todos']>().toEqualTypeOf<TodosState>()
  expectTypeOf<AgentStateOf<Desk>>().not.toHaveProperty('ask_user')
  expectTypeOf<Awaited<ReturnType<Conversation<Desk>['state']>>['count']>().toEqualTypeOf<number>()
})

test('a change has some of the keys, each of its type or undefined', () => {
  const check = (chat: Conversation<Desk>) => {
    void chat.setState({ plan: 'x' })
    void chat.setState((now) => ({ count: now.count + 1, plan: undefined }))
    // @ts-expect-error the count is a number
    void chat.setState({ count: 'x' })
    // @ts-expect-error there is no such key
    void chat.setState({ other: 1 })
  }
  expectTypeOf(check).toBeFunction()
})

test('the tools of extensions are tools of the agent, and pending items are told apart by them', () => {
  expectTypeOf<AgentTools<Desk>['name']>().toEqualTypeOf<'own' | 'write_todos' | 'tick_todo' | 'ask_user'>()
  type Asked = Extract<PendingOf<Desk>, { tool: 'ask_user' }>
  expectTypeOf<Asked['args']['kind']>().toEqualTypeOf<'single' | 'multiple' | 'text'>()
})

test('what names no key or no tool of the agent is refused', () => {
  // @ts-expect-error 'other' is not a key of the state
  void (() => defineAgent({ name: 'x', model, state, initialState: { plan: '', count: 0 }, expose: ['other'] }))
  // @ts-expect-error there is no tool 'other'
  void (() => defineAgent({ name: 'x', model, extensions: [todos()], untilTool: 'other' }))
  // @ts-expect-error the plan is a text
  void (() => defineAgent({ name: 'x', model, state, initialState: { plan: 1, count: 0 } }))
})

test('a derived agent keeps state and extensions, or takes others', () => {
  const derive = () => deriveAgent(define(), { name: 'other', tools: [] })
  type Derived = ReturnType<typeof derive>
  expectTypeOf<AgentTools<Derived>['name']>().toEqualTypeOf<'write_todos' | 'tick_todo' | 'ask_user'>()
  expectTypeOf<AgentStateOf<Derived>['plan']>().toEqualTypeOf<string>()
})

test('tools and hooks name the type of their state; without it, it is not known', () => {
  expectTypeOf<Turn['state']['anything']>().toEqualTypeOf<unknown>()
  const tool = defineTool({
    name: 'x',
    description: 'x',
    input: z.object({}),
    run: (_, turn: Turn<{ items: string[] }>) => turn.setState(({ items }) => ({ items: [...items, 'a'] })),
  })
  expectTypeOf(defineExtension({ name: 'e', tools: [tool] }).name).toEqualTypeOf<'e'>()
})
