import type { LanguageModel } from './language-model.ts'
import type { Retention } from './tool.ts'

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
