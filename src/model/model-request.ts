import type { Clock } from '../base/clock.ts'
import type { JsonObject } from '../base/json.ts'
import type { Redact } from '../base/redact/redactor.ts'
import type { LanguageModel, ModelPrompt, ModelSettings, ModelTool } from '../define/language-model.ts'
import type { ChunkTransformer } from '../define/stream-chunk.ts'
import type { ModelRef, Usage } from '../log/events.ts'
import type { RetryPolicy } from './retry-policy.ts'

/** One model call, whatever it takes: retries, then fallback models. */
export type ModelRequest = {
  /** The agent's model, then its fallback models, tried in order. At least one. */
  readonly models: readonly LanguageModel[]
  /** A function when it depends on who reads it: reasoning is rendered only to the provider that made it. */
  readonly prompt: ModelPrompt | ((model: LanguageModel) => ModelPrompt)
  readonly tools: readonly ModelTool[]
  readonly settings: ModelSettings
  /** JSON Schema of the object that the model is to answer with. */
  readonly output?: { readonly schema: JsonObject; readonly name?: string }
  readonly retry: RetryPolicy | false
  readonly signal: AbortSignal
  readonly clock: Clock
  /** Names a call of one of our tools. */
  readonly newCallId: () => string
  readonly transformChunk?: ChunkTransformer | null
  /** Told of every attempt, also of those that failed. Must not throw. */
  readonly onAttempt?: (attempt: AttemptReport) => void
  /** Takes secrets out of a provider's words. */
  readonly redact: Redact
  /** Default: `Math.random`. */
  readonly random?: () => number
}

/** What one request to a provider came to. Holds no keys and no headers. */
export type AttemptReport = {
  readonly model: ModelRef
  /** Counts from 1 for each model. */
  readonly attempt: number
  readonly status: 'ok' | 'failed' | 'cancelled'
  readonly latencyMs: number
  /** Null when nothing came. */
  readonly timeToFirstTokenMs: number | null
  readonly usage: Usage
  readonly error?: string
}
