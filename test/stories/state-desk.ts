import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createScope } from '../../src/define/scope.ts'
import type { Turn } from '../../src/define/turn.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import type { StoryContext } from './over-stores.ts'
import { recordedStore } from './recorded-store.ts'

export const shape = z.object({ items: z.array(z.string()).default([]), plan: z.string().optional() })
export type List = z.infer<typeof shape>

export const add = defineTool({
  name: 'add',
  description: 'Add an item',
  input: z.object({ item: z.string() }),
  run: ({ item }, turn: Turn<List>) => {
    turn.setState((state) => ({ items: [...state.items, item] }))
    return `added ${item}`
  },
})

type Tools = NonNullable<Parameters<typeof defineAgent>[0]['tools']>
type Calls = readonly { readonly tool: string; readonly args: unknown }[]

/** A desk whose model makes these calls at once, and says 'Done.' when it is asked again. */
export function desk(tools: Tools, calls: Calls, more: object = {}) {
  const model = scriptedModel(({ prompt }) => (prompt.at(-1)?.role === 'tool' ? 'Done.' : { calls: [...calls] }))
  const agent = defineAgent({ name: 'desk', model, tools, state: shape, expose: ['items'], ...more })
  return { model, agent }
}

export function open(story: StoryContext, { agent }: { agent: ReturnType<typeof desk>['agent'] }) {
  const data = story.openStore()
  const { store, commits } = recordedStore(data)
  const runtime = story.start({ agents: [agent], store })
  return {
    store,
    data,
    commits,
    runtime,
    chat: runtime.as(createScope({ user: 'ann' })).conversation('c1', { agent: 'desk' }),
  }
}

export const both = ['tea', 'milk'].map((item) => ({ tool: 'add', args: { item } }))
