import type { TurnState } from '../../log/state.ts'
import { isInWindow, isSummarised } from '../render/reduction.ts'
import { transcript } from '../render/transcript.ts'
import type { PromptSize } from './prompt-size.ts'
import { type ReduceInput, withStubs, withSummary } from './reduce.ts'

export type PlanInput = ReduceInput & {
  readonly size: PromptSize
  /** What estimates are corrected by. */
  readonly factor: number
  /** False: no model sums up; only what the window has left behind is put away. */
  readonly isSummedUp: boolean
}

/** Summing up begins before the budget is full, so that the summary is at hand when the reduction comes. */
const readyShare = 0.8
/** What a summary is thought to take, as a share of the budget. */
export const summaryShare = 0.1
/** By how much the budget is thought to be passed when it is. */
const overshootShare = 0.05

/**
 * The ended turns, oldest first, that the next summary has to stand for; none while stubs will do. Turns that are outside the window
 * already, and those that must go for the rest to be at the target once the budget is full. Pure.
 */
export function planSummary(input: PlanInput): TurnState[] {
  const { state, reduction, latest, settings, limits, count, size, factor } = input
  const now = count(reduction)
  const isDue = input.isSummedUp && now >= limits.budget * readyShare
  const open = state.turns.filter((turn) => turn.opened && !isSummarised(turn, latest))
  const [oldest] = open
  if (!isDue && (!oldest?.end || isInWindow(oldest, reduction))) return []
  const planned = withSummary(withStubs(reduction, input), input)
  // What is still to come before the reduction is not there to be summed up.
  const growth = Math.max(0, limits.budget - now)
  const room = limits.target - growth - limits.budget * (summaryShare + overshootShare)
  let rest = count(planned)
  let toRead = 0
  const span: TurnState[] = []
  for (const turn of open) {
    const isShown = isInWindow(turn, reduction)
    const isTooMuch = isDue && (rest > room || open.length - span.length > settings.windowTurns)
    if (!turn.end || (isShown && !isTooMuch)) break
    // More than one prompt can hold is summed up in several steps.
    toRead += size.ofText(transcript([turn])) * factor
    if (input.isSummedUp && span.length > 0 && toRead > limits.budget) break
    span.push(turn)
    if (isInWindow(turn, planned)) rest -= size.ofTurn(turn, planned) * factor
  }
  return span
}
