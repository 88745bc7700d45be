import type { TurnState } from '../../log/state.ts'

/**
 * What is left out of prompts. Stays as it is from one reduction to the next, so that between them a prompt only grows and the provider's
 * cache holds.
 */
export type Reduction = {
  /** Stands for every turn that ended at or before its `toSeq`. */
  readonly summary: SummaryText | null
  /** Turns that began before this seq are outside the window. */
  readonly windowFrom: number
  /** Calls whose results are replaced by a stub, each with the reason. */
  readonly stubbed: ReadonlyMap<string, string>
}

export type SummaryText = { readonly toSeq: number; readonly version: number; readonly text: string }

export const noReduction: Reduction = { summary: null, windowFrom: 0, stubbed: new Map() }

/** Whether a turn is rendered verbatim. One that is open always is. */
export function isInWindow(
  turn: TurnState,
  { summary, windowFrom }: Pick<Reduction, 'summary' | 'windowFrom'>,
): boolean {
  if (turn.firstSeq < windowFrom && turn.end !== null) return false
  return !isSummarised(turn, summary)
}

export function isSummarised(turn: TurnState, summary: Reduction['summary']): boolean {
  return summary !== null && turn.end !== null && turn.end.seq <= summary.toSeq
}

/** The turns a prompt shows, in their order. */
export function visibleTurns(turns: readonly TurnState[], reduction: Reduction): TurnState[] {
  return turns.filter((turn) => turn.opened && isInWindow(turn, reduction))
}
