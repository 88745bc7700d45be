import type { Json } from '../log/json.ts'

/**
 * What is left out of prompts. Stays as it is from one reduction to the next, so that between them a prompt only grows and the provider's
 * cache holds.
 */
export type Reduction = {
  /** Stands for every turn that ended at or before its `toSeq`. */
  readonly summary: SummaryText | null
  /** Turns that began before this seq are outside the window. */
  readonly windowFrom: number
  /** Calls whose results are replaced by a stub. */
  readonly stubbed: ReadonlySet<string>
}

export type SummaryText = { readonly toSeq: number; readonly version: number; readonly text: string }

export const noReduction: Reduction = { summary: null, windowFrom: 0, stubbed: new Set() }

/** How it is kept in the audit, for `explain`. */
export type Evictions = {
  readonly summaryToSeq: number | null
  readonly windowFrom: number
  readonly stubbed: readonly string[]
}

export function evictionsOf({ summary, windowFrom, stubbed }: Reduction): Evictions & { readonly [key: string]: Json } {
  return { summaryToSeq: summary?.toSeq ?? null, windowFrom, stubbed: [...stubbed] }
}

export function textOfSummary(content: Json): string {
  return typeof content === 'string' ? content : JSON.stringify(content)
}
