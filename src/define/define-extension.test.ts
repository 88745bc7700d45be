import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { scriptedModel } from '../testing/scripted-model.ts'
import { preHook } from './create-hook.ts'
import { defineAgent, deriveAgent } from './define-agent.ts'
import { defineExtension } from './define-extension.ts'
import { defineTool } from './define-tool.ts'
import { systemScope } from './scope.ts'
import { createTurn, inject, type StateUpdate, type Turn } from './turn.ts'

const model = scriptedModel('Hi.')
const tool = (name: string) => defineTool({ name, description: name, input: z.object({}), run: () => name })
const list = z.object({ items: z.array(z.string()) })
const shop = defineExtension({
  name: 'shop',
  instructions: 'Sell.',
  tools: [tool('sell')],
  hooks: [preHook('watch', () => {})],
  state: list,
  initialState: { items: [] },
  expose: true,
})

describe('an agent with extensions', () => {
  test('has their instructions, tools, hooks and state after its own', () => {
    const state = z.object({ plan: z.string().default('none') })
    const agent = defineAgent({
      ...{ name: 'a', model, instructions: 'Be brief.', tools: [tool('own')], hooks: [preHook('first', () => {})] },
      ...{ state, expose: ['plan'], extensions: [shop], untilTool: 'sell' },
    })
    expect(agent.instructions).toBe('Be brief.\n\nSell.')
    expect([...agent.toolSet.keys()]).toEqual(['own', 'sell'])
    expect(agent.hooks.map(({ name }) => name)).toEqual(['first', 'watch'])
    expect(agent.state).toMatchObject({ exposed: ['plan', 'shop'] })
    expect([...agent.state!.parts.keys()]).toEqual(['shop'])
  })

  test('joins instructions that are functions, each with its own part of the state', async () => {
    const counted = defineExtension({
      name: 'counted',
      instructions: (turn) => `${turn.state.items.length} items.`,
      state: list,
      initialState: { items: [] },
    })
    const agent = defineAgent({ name: 'a', model, instructions: () => 'Own.', extensions: [shop, counted] })
    const turn = createTurn({ scope: systemScope(), state: { counted: { items: ['x'] }, shop: { items: [] } } })
    expect(await (agent.instructions as (turn: Turn) => string)(turn)).toBe('Own.\n\nSell.\n\n1 items.')
  })

  test('passes them on when it is derived, and takes others in their place', () => {
    const agent = defineAgent({ name: 'a', model, extensions: [shop] })
    expect([...deriveAgent(agent, { name: 'b', tools: [tool('own')] }).toolSet.keys()]).toEqual(['own', 'sell'])
    const without = deriveAgent(agent, { name: 'c', extensions: [] })
    expect([[...without.toolSet.keys()], without.state]).toEqual([[], null])
  })

  test.each<[string, object, string]>([
    ['two extensions of one name', { extensions: [shop, shop] }, "there are several extensions named 'shop'"],
    [
      'a tool of its own with the name of theirs',
      { tools: [tool('sell')], extensions: [shop] },
      "the tool 'sell' is both in the agent's own tools and in the extension 'shop'",
    ],
    [
      'a tool that two of them have',
      { extensions: [shop, defineExtension({ name: 'bar', tools: [tool('sell')] })] },
      "the tool 'sell' is both in the extension 'shop' and in the extension 'bar'",
    ],
    [
      'a hook that it has too',
      { hooks: [preHook('watch', () => {})], extensions: [shop] },
      "the hook 'watch' is both in the agent's own hooks and in the extension 'shop'",
    ],
    [
      'a key of its own state with the name of theirs',
      { state: z.object({ shop: z.string().optional() }), extensions: [shop] },
      "'state' has the key 'shop', which belongs to the extension 'shop'",
    ],
    ['what is not an extension', { extensions: [{ name: 'x' }] }, 'extensions[0] was not made by defineExtension'],
    ['no list', { extensions: shop }, "'extensions' must be a list"],
    ['a schema that is none', { state: 'text' }, "'state' must be a Standard Schema or a JSON Schema"],
    ['an initial state without a schema', { initialState: {} }, "'initialState' needs 'state'"],
    ['an initial state that does not match', { state: list }, "'initialState' does not match 'state'"],
    [
      'an initial state that is not JSON',
      { state: list, initialState: new Map() },
      "'initialState' is not a plain object",
    ],
    ['keys to expose without a schema', { expose: ['x'] }, "'expose' needs 'state'"],
    [
      'keys to expose that there are not',
      { state: list, initialState: { items: [] }, expose: ['x'] },
      "'expose' names 'x', which is not in 'state' (it has items)",
    ],
    [
      'a migration that is no function',
      { state: list, initialState: { items: [] }, migrateState: 1 },
      "'migrateState' must be",
    ],
  ])('is refused with %s', (_, given, problem) => {
    expect(() => defineAgent({ name: 'a', model, ...given } as never)).toThrow(problem)
  })
})

describe('an extension', () => {
  test.each<[string, unknown, string]>([
    ['nothing', undefined, 'it must be an object'],
    ['an unknown key', { name: 'x', tool: [] }, 'tool'],
    ['no name', {}, 'name'],
    ['tools that are none', { name: 'x', tools: [{ name: 'y' }] }, "'tools' must be a list of tools"],
    ['an initial state without a schema', { name: 'x', initialState: {} }, "'initialState' needs 'state'"],
    ['an initial state that does not match', { name: 'x', state: list }, "'initialState' does not match 'state'"],
    ['something to expose without state', { name: 'x', expose: true }, "'expose' needs 'state'"],
  ])('is refused with %s', (_, given, problem) => {
    expect(() => defineExtension(given as never)).toThrow(problem)
  })

  test('sees and sets its own part of the state in tools and hooks', async () => {
    const seen: unknown[] = []
    const extension = defineExtension({
      name: 'shop',
      tools: [
        defineTool({
          name: 'sell',
          description: 'Sell',
          input: z.object({}),
          approval: (_, turn) => turn.state['items'] !== undefined,
          prompt: (_, turn) => String(turn.state['items']),
          run: (_, turn: Turn<z.infer<typeof list>>) => {
            seen.push(turn.state)
            turn.setState(({ items }) => ({ items: [...items, 'tea'] }))
            turn.setState({ items: undefined as never })
          },
        }),
      ],
      hooks: [preHook('watch', (turn) => inject(turn, String(turn.state['items'])))],
      state: list,
      initialState: { items: [] },
    })
    const updates: StateUpdate[] = []
    const state = { plan: 'x', shop: { items: ['milk'] } }
    const turn = createTurn({ scope: systemScope(), state, setState: (update) => void updates.push(update) })
    const [sell] = extension.tools
    if (sell.executor !== 'server') throw new Error('it is a server tool')
    expect([await sell.isGated({}, turn), await sell.prompt({}, turn)]).toEqual([true, 'milk'])
    await sell.run({}, turn)
    expect(seen).toEqual([{ items: ['milk'] }])
    const newest = { plan: 'y', shop: { items: ['jam'] } }
    expect(updates.map((update) => (update as (state: object) => object)(newest))).toEqual([
      { shop: { items: ['jam', 'tea'] } },
      { shop: {} },
    ])
    const returned = (await extension.hooks[0]!.run(turn)) as Turn
    expect(returned.state).toBe(turn.state)
    expect(returned.injections).toEqual([{ type: 'text', text: 'milk' }])
  })

  test('has an empty part where the agent has none for it', async () => {
    const run = vi.fn((_: object, turn: Turn) => turn.state)
    const y = defineTool({ name: 'y', description: 'y', input: z.object({}), run })
    const [wrapped] = defineExtension({ name: 'x', tools: [y] }).tools
    expect(await wrapped.run({}, createTurn({ scope: systemScope() }))).toEqual({})
  })
})
