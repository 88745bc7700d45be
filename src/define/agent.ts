import type { JsonObject } from '../base/json.ts'
import type { AgentState } from './agent-state.ts'
import type { Hook } from './create-hook.ts'
import type { Extension } from './define-extension.ts'
import type { AfterHook } from './define-subscriber.ts'
import type { ChunkTransformer, LanguageModel, ModelChooser, ModelSettings } from './language-model.ts'
import type { Schema } from './schema.ts'
import type { Retention, Tool, ToolSet } from './tool.ts'
import type { ToolSource } from './tool-source.ts'
import type { AnyState, Turn } from './turn.ts'

/**
 * An agent definition with defaults filled in. Frozen. `Output` is the type of a turn's object; undefined without
 * `output`.
 */
export type Agent<
  Name extends string = string,
  Tools extends readonly Tool[] = readonly Tool[],
  Output = unknown,
  State = unknown,
  Extensions extends readonly Extension[] = readonly Extension[],
> = {
  readonly name: Name
  readonly model: LanguageModel | ModelChooser
  readonly fallbackModels: readonly LanguageModel[]
  readonly settings: ModelSettings
  readonly instructions: string | ((turn: Turn) => string)
  readonly tools: Tools
  readonly toolSet: ToolSet
  /** Tools that are found while the agent runs; not in `tools`. */
  readonly toolSources: readonly ToolSource[]
  readonly hooks: readonly Hook[]
  readonly afterHooks: readonly AfterHook[]
  readonly transformChunk: ChunkTransformer | null
  readonly output: Schema | null
  readonly outputJsonSchema: JsonObject | null
  readonly untilTool: string | null
  readonly maxSteps: number
  /** Tokens that one turn may use with its child agents, input and output together. Null: no limit. */
  readonly maxTokens: number | null
  readonly maxParallelCalls: number
  /** Levels of child agents allowed below its turns. */
  readonly maxDepth: number
  readonly maxRegenerations: number
  readonly hookTimeoutMs: number
  readonly reveal: Reveal
  readonly retry: RetrySettings | false
  readonly limits: AgentLimits
  /** Null: its model calls are under no account. */
  readonly account: string | null
  readonly timeouts: TimeoutSettings
  readonly context: ContextSettings
  readonly audit: AuditLevel
  /** Null: conversations get no title. */
  readonly title: TitleSettings | null
  /** Null: its conversations have no state. */
  readonly state: AgentState | null
  /** For type inference only. Never set. */
  readonly '~types'?: { readonly output: Output; readonly state: State; readonly extensions: Extensions }
}

/** `records`: model, usage and outcome of each call. `full`: also the prompt. */
export type AuditLevel = 'off' | 'records' | 'full'

/**
 * `live`: watchers see a message while it is written, even one that a post-hook then withholds. `judged`: watchers see
 * a message once all post-hooks have passed it.
 */
export type Reveal = 'live' | 'judged'

/**
 * How often each model is called for one message: an attempt that fails, or whose stream breaks off, is made again.
 * Delays grow from `baseMs` to `maxMs`.
 */
export type RetrySettings = { readonly maxAttempts: number; readonly baseMs: number; readonly maxMs: number }

/** `turns`: at once, over all nodes and tenants. Null: no limit. */
export type AgentLimits = { readonly turns: number | null }

/** How long each attempt at a message may take: until its first chunk, between two chunks, and in all. */
export type TimeoutSettings = {
  readonly firstChunkMs: number
  readonly betweenChunksMs: number
  readonly totalMs: number
}

/** Null: the agent's own model, and built-in instructions. */
export type TitleSettings = { readonly model: LanguageModel | null; readonly instructions: string | null }

/** The type of the object that a turn of this agent ends with. Undefined without `output`. */
export type AgentOutput<A extends Agent> = NonNullable<A['~types']>['output']
/** The state of the agent's conversations, with that of its extensions. */
export type AgentStateOf<A extends Agent> = NonNullable<A['~types']>['state'] extends infer State extends object
  ? State
  : AnyState
/** The agent's tools, as a union. */
export type AgentTools<A extends Agent> = A['tools'][number]

/** How much of a conversation the model sees. All sizes in tokens. */
export type ContextSettings = {
  /** Where reducing the prompt begins. It is reduced to 60 % of this. */
  readonly workingBudget: number
  /** The hard limit of a prompt. Null: the model's context window. */
  readonly ceiling: number | null
  /** Tokens reserved for what hooks inject before one model call. */
  readonly injectionReserve: number
  readonly windowTurns: number
  readonly retention: Retention
  /** Null: the agent's own model, and built-in instructions. */
  readonly summarise: { readonly model: LanguageModel | null; readonly instructions: string | null } | false
  /** Counts the tokens of a text. Null: an estimate. */
  readonly tokenizer: ((text: string) => number) | null
}

/**
 * The `context` of `defineAgent`. Defaults: 30,000 tokens, of which 4,000 are for hooks; 40 turns; results kept for 6
 * turns; summaries by the agent's own model.
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

/** Marks agents made by `defineAgent`, also across two copies of the package, and keeps their attributes. */
export function brandAgent<T extends object>(agent: T, attributes: object = {}): Readonly<T> {
  return Object.freeze(Object.defineProperty(agent, brand, { value: Object.freeze({ ...attributes }) }))
}

export function isAgent(value: unknown): value is { readonly name: string } {
  return typeof value === 'object' && value !== null && brand in value
}

/** The attributes that the agent was defined with. */
export function agentAttributes(agent: object): object {
  return (agent as { readonly [brand]?: object })[brand] ?? {}
}
