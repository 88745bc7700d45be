import type { TurnState } from '../log/state.ts'
import type { Reduction } from './reduction.ts'

/** Whether a turn is rendered verbatim. */
export function isInWindow(
  turn: TurnState,
  { summary, windowFrom }: Pick<Reduction, 'summary' | 'windowFrom'>,
): boolean {
  if (turn.firstSeq < windowFrom) return turn.end === null
  return !isSummarised(turn, summary)
}

export function isSummarised(turn: TurnState, summary: Reduction['summary']): boolean {
  return summary !== null && turn.end !== null && turn.end.seq <= summary.toSeq
}

/** Where a window of the newest so many turns begins. */
export function windowFrom(turns: readonly TurnState[], windowTurns: number): number {
  return turns.at(-windowTurns)?.firstSeq ?? 0
}
