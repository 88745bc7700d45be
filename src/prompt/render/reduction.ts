import type { TurnState } from '../../log/state.ts'

/**
 * What prompts leave out. It stays the same between reductions, so that a prompt only grows and the provider's cache
 * stays valid.
 */
export type Reduction = {
  /** Covers every turn that ended at or before its `toSeq`. */
  readonly summary: SummaryText | null
  /** Turns that began before this seq are outside the window. */
  readonly windowFrom: number
  /** Calls whose results are replaced by a stub, each with the reason. */
  readonly stubbed: ReadonlyMap<string, string>
}

export type SummaryText = { readonly toSeq: number; readonly version: number; readonly text: string }

export const noReduction: Reduction = { summary: null, windowFrom: 0, stubbed: new Map() }

/** Whether a turn is rendered verbatim. The open turn always is. */
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

/** The turns that a prompt shows, in order. */
export function visibleTurns(turns: readonly TurnState[], reduction: Reduction): TurnState[] {
  return turns.filter((turn) => turn.opened && isInWindow(turn, reduction))
}
