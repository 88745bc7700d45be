import type { JsonObject } from '../base/json.ts'
import type { Hook } from './create-hook.ts'
import type { ChunkTransformer, LanguageModel, ModelSettings } from './language-model.ts'
import type { Schema } from './schema.ts'
import type { Retention, Tool, ToolSet } from './tool.ts'
import type { Turn } from './turn.ts'

/** A definition with its defaults filled in. Frozen. `Output` is the type of a turn's object; undefined without an `output` schema. */
export type Agent<Name extends string = string, Tools extends readonly Tool[] = readonly Tool[], Output = unknown> = {
  readonly name: Name
  readonly model: LanguageModel
  readonly fallbackModels: readonly LanguageModel[]
  readonly settings: ModelSettings
  readonly instructions: string | ((turn: Turn) => string)
  readonly tools: Tools
  readonly toolSet: ToolSet
  readonly hooks: readonly Hook[]
  readonly transformChunk: ChunkTransformer | null
  readonly output: Schema | null
  readonly outputJsonSchema: JsonObject | null
  readonly untilTool: string | null
  readonly maxSteps: number
  /** Tokens one turn may use with its child agents, input and output together; null: any number. */
  readonly maxTokens: number | null
  readonly maxParallelCalls: number
  /** How many levels of child agents there may be below a turn of it. */
  readonly maxDepth: number
  readonly maxRegenerations: number
  readonly hookTimeoutMs: number
  readonly reveal: Reveal
  readonly retry: RetrySettings | false
  readonly context: ContextSettings
  readonly audit: AuditLevel
  /** Null: conversations get no title. */
  readonly title: TitleSettings | null
  /** Only for inference; never there. */
  readonly '~types'?: { readonly output: Output }
}

/** `records`: which model was called, what it used and how it went. `full`: also what it was given. */
export type AuditLevel = 'off' | 'records' | 'full'

/**
 * `live`: watchers read a message while it is written, also one that a post-hook then withholds. `judged`: a message is shown whole, once all
 * post-hooks have passed it.
 */
export type Reveal = 'live' | 'judged'

/** How a model call that failed before its first chunk is tried again. Waits grow from `baseMs` to `maxMs`. */
export type RetrySettings = { readonly maxAttempts: number; readonly baseMs: number; readonly maxMs: number }

/** Nulls: the agent's own model, and instructions of ours. */
export type TitleSettings = { readonly model: LanguageModel | null; readonly instructions: string | null }

/** The object a turn of this agent ends with; undefined where the agent has no `output`. */
export type AgentOutput<A extends Agent> = NonNullable<A['~types']>['output']
/** The agent's tools, as a union. */
export type AgentTools<A extends Agent> = A['tools'][number]

/** How much the model sees, and what makes room. All sizes in tokens. */
export type ContextSettings = {
  /** Where reducing begins; it goes down to 60 % of it. */
  readonly workingBudget: number
  /** What a prompt must never pass; null: whatever the model takes. */
  readonly ceiling: number | null
  /** What hooks may inject before one model call. */
  readonly injectionReserve: number
  readonly windowTurns: number
  readonly retention: Retention
  /** Nulls: the agent's own model, and instructions of ours. */
  readonly summarise: { readonly model: LanguageModel | null; readonly instructions: string | null } | false
  /** Counts the tokens of a text; null: an estimate. */
  readonly tokenizer: ((text: string) => number) | null
}

/**
 * What `defineAgent` takes as `context`. Defaults: 30,000 tokens, 4,000 of them for hooks, 40 turns, results kept for 6 turns, summaries by
 * the agent's own model.
 */
export type ContextAttributes = {
  readonly workingBudget?: number
  readonly ceiling?: number
  readonly injectionReserve?: number
  readonly windowTurns?: number
  readonly retention?: Retention
  readonly summarise?: { readonly model?: LanguageModel; readonly instructions?: string } | false
  readonly tokenizer?: (text: string) => number
}

export function contextSettings(attributes: ContextAttributes = {}): ContextSettings {
  const { workingBudget = 30_000, ceiling = null, injectionReserve = 4_000, windowTurns = 40 } = attributes
  const { retention = { mode: 'age', value: 6 }, summarise = {}, tokenizer = null } = attributes
  return Object.freeze({
    workingBudget,
    ceiling,
    injectionReserve,
    windowTurns,
    retention,
    summarise: summarise && { model: summarise.model ?? null, instructions: summarise.instructions ?? null },
    tokenizer,
  })
}

const brand = Symbol.for('perdure.agent')

/** Marks what `defineAgent` made, also across two copies of the package, with what it was made from. */
export function brandAgent<T extends object>(agent: T, attributes: object = {}): Readonly<T> {
  return Object.freeze(Object.defineProperty(agent, brand, { value: Object.freeze({ ...attributes }) }))
}

export function isAgent(value: unknown): value is { readonly name: string } {
  return typeof value === 'object' && value !== null && brand in value
}

/** What the agent was defined with. */
export function agentAttributes(agent: object): object {
  return (agent as { readonly [brand]?: object })[brand] ?? {}
}
