import { defineExtension, type Extension } from '../define/define-extension.ts'
import { defineTool } from '../define/define-tool.ts'
import type { Schema } from '../define/schema.ts'
import type { Tool } from '../define/tool.ts'
import type { Turn } from '../define/turn.ts'

/** A task on the list. */
export type Todo = {
  readonly id: number
  readonly text: string
  readonly status: 'open' | 'in_progress' | 'done' | 'cancelled'
}

/** The state of `todos()`, under the key `todos`. */
export type TodosState = { readonly items: readonly Todo[] }

/** Options of `todos`. */
export type TodosOptions = {
  /** Shows the list in views. Default: true. */
  readonly expose?: boolean
  /** The most tasks on the list. Default: 100. */
  readonly maxItems?: number
}

const statuses = ['open', 'in_progress', 'done', 'cancelled'] as const
const maxText = 500

const item = {
  type: 'object',
  properties: { id: { type: 'integer' }, text: { type: 'string' }, status: { enum: statuses } },
  required: ['id', 'text', 'status'],
}

type WriteArgs = { readonly texts: readonly string[]; readonly replace?: boolean }
type TickArgs = { readonly id: number; readonly status: Todo['status'] }

type WriteTool = Tool<'write_todos', WriteArgs, string, 'server', WriteArgs>
type TickTool = Tool<'tick_todo', TickArgs, string, 'server', TickArgs>

/**
 * A list of tasks that the model writes and ticks, kept in the state of the conversation. Calls at the same time all keep
 * their tasks.
 */
export function todos(options: TodosOptions = {}): Extension<'todos', readonly [WriteTool, TickTool], TodosState> {
  const { expose = true, maxItems = 100 } = options
  const write = defineTool({
    name: 'write_todos',
    description: 'Add tasks to the list of tasks, or replace the list. Each task gets a number, which tick_todo takes.',
    input: {
      type: 'object',
      properties: {
        texts: { type: 'array', items: { type: 'string', minLength: 1, maxLength: maxText }, maxItems },
        replace: { type: 'boolean', description: 'Drop the tasks that are on the list. Default: false' },
      },
      required: ['texts'],
      additionalProperties: false,
    },
    run: (args, turn: Turn<TodosState>) => {
      const { texts, replace = false } = args as WriteArgs
      const add = ({ items }: TodosState) => ({ items: [...(replace ? [] : items), ...numbered(texts, items)] })
      if (add(turn.state).items.length > maxItems)
        throw new Error(`there may be at most ${maxItems} tasks; replace the list`)
      turn.setState(add)
      return 'The list was written.'
    },
  })
  const tick = defineTool({
    name: 'tick_todo',
    description: 'Say how a task on the list stands: open, in_progress, done or cancelled.',
    input: {
      type: 'object',
      properties: { id: { type: 'integer' }, status: { enum: statuses } },
      required: ['id', 'status'],
      additionalProperties: false,
    },
    run: (args, turn: Turn<TodosState>) => {
      const { id, status } = args as TickArgs
      if (!turn.state.items.some((todo) => todo.id === id)) throw new Error(`there is no task ${id}`)
      turn.setState(({ items }) => ({ items: items.map((todo) => (todo.id === id ? { ...todo, status } : todo)) }))
      return `Task ${id} is ${status}.`
    },
  })
  return defineExtension({
    name: 'todos',
    instructions: (turn) => listed(turn.state as TodosState),
    tools: [write, tick],
    state: {
      type: 'object',
      properties: { items: { type: 'array', items: item, maxItems } },
      required: ['items'],
    } as Schema,
    initialState: { items: [] },
    expose,
  }) as unknown as Extension<'todos', readonly [WriteTool, TickTool], TodosState>
}

/** Numbering continues from the highest number ever used, so that a number never means another task. */
function numbered(texts: readonly string[], items: readonly Todo[]): Todo[] {
  const last = items.reduce((highest, { id }) => Math.max(highest, id), 0)
  return texts.map((text, index) => ({ id: last + 1 + index, text, status: 'open' }))
}

function listed({ items }: TodosState): string {
  const usage = 'For work with several steps, write them down with write_todos and tick each with tick_todo.'
  if (items.length === 0) return usage
  return `${usage}\n\nThe list of tasks:\n${items.map(({ id, text, status }) => `${id}. [${status}] ${text}`).join('\n')}`
}
