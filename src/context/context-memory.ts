import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import { type Calibration, uncalibrated } from './calibration.ts'
import type { TurnSizes } from './prompt-size.ts'
import { noReduction, type Reduction, type SummaryText } from './reduction.ts'

/**
 * What this process remembers of the prompts of one conversation. Nothing of it is needed: another node begins without it, and only the
 * provider's cache is colder for it.
 */
export type ContextMemory = {
  reduction: Reduction
  calibration: Calibration
  /** The latest there is; undefined before it was looked up. */
  latestSummary: SummaryText | null | undefined
  /** The prompt of the call before, for telling what broke the common prefix. */
  lastPrompt: LanguageModelV4Prompt | null
  isSummarising: boolean
  /** A title is being generated. */
  isTitling: boolean
  readonly turnSizes: TurnSizes
}

/** The memories of the conversations used last. */
export class ContextMemories {
  readonly #kept = new Map<string, ContextMemory>()
  readonly #limit: number

  constructor(limit = 200) {
    this.#limit = limit
  }

  of(tenant: string, id: string): ContextMemory {
    const key = JSON.stringify([tenant, id])
    const memory = this.#kept.get(key) ?? newMemory()
    this.#kept.delete(key)
    this.#kept.set(key, memory)
    if (this.#kept.size > this.#limit) this.#kept.delete(this.#kept.keys().next().value!)
    return memory
  }

  drop(tenant: string, id: string): void {
    this.#kept.delete(JSON.stringify([tenant, id]))
  }
}

function newMemory(): ContextMemory {
  return {
    reduction: noReduction,
    calibration: uncalibrated,
    latestSummary: undefined,
    lastPrompt: null,
    isSummarising: false,
    isTitling: false,
    turnSizes: new WeakMap(),
  }
}
