import type { JsonObject } from '../base/json.ts'
import type { ContextSettings } from './context-settings.ts'
import type { Hook } from './create-hook.ts'
import type { LanguageModel, ModelSettings } from './language-model.ts'
import type { Schema } from './schema.ts'
import type { ChunkTransformer } from './stream-chunk.ts'
import type { Tool, ToolSet } from './tool.ts'
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
