import type { ContextSettings } from '../agent/context-settings.ts'
import type { ConversationState, TurnState } from '../log/state.ts'
import { openTurn } from '../log/state.ts'
import type { Retention, ToolSet } from '../tool/tool.ts'
import type { Reduction } from './reduction.ts'
import { stubbedCalls } from './retention.ts'
import { isInWindow, isSummarised, windowFrom } from './window.ts'

/** Reducing goes down to this share of the budget, so that it happens in jumps and not at every turn. */
export const reducedShare = 0.6

export type ReduceInput = {
  readonly state: ConversationState
  readonly reduction: Reduction
  readonly settings: Pick<ContextSettings, 'workingBudget' | 'injectionReserve' | 'windowTurns' | 'retention'>
  readonly tools: ToolSet
  /** Tokens of the prompt that this reduction gives, corrected, without injections. */
  readonly count: (reduction: Reduction) => number
}

/** What a prompt may have before hooks add to it. */
export function budgetOf({ workingBudget, injectionReserve }: ReduceInput['settings']): number {
  return Math.max(1, workingBudget - injectionReserve)
}

/**
 * The reduction for the next prompt: the same one while the prompt is within the budget, else one that leaves at most 60 % of it, by the
 * cheapest means that do: stubs for old results, then the summary that is at hand, then fewer turns. Pure. The open turn is never cut.
 */
export function reduce(input: ReduceInput, latest: Reduction['summary']): Reduction {
  const { state, settings, tools, count } = input
  const reduction = withLateSummary(state, input.reduction, latest)
  const budget = budgetOf(settings)
  if (count(reduction) <= budget) return reduction
  const target = budget * reducedShare
  const visible = state.turns.filter((turn) => turn.opened && isInWindow(turn, reduction))
  const stubbed = new Set([...reduction.stubbed, ...stubbedCalls(visible, retentionOf(settings.retention, tools))])
  let next: Reduction = { ...reduction, stubbed }
  if (count(next) <= target) return next
  if (latest && latest.toSeq > (reduction.summary?.toSeq ?? 0)) next = { ...next, summary: latest }
  next = { ...next, windowFrom: Math.max(next.windowFrom, windowFrom(visible, settings.windowTurns)) }
  for (const turn of cuttable(state, next)) {
    if (count(next) <= target) return next
    next = { ...next, windowFrom: turn.firstSeq + 1 }
  }
  return next
}

/** A summary that came after its turns had to be cut is taken at once: what they said is missing until then. */
function withLateSummary(state: ConversationState, reduction: Reduction, latest: Reduction['summary']): Reduction {
  if (!latest || latest.toSeq <= (reduction.summary?.toSeq ?? 0)) return reduction
  const isMissed = state.turns.some(
    (turn) => turn.opened && !isInWindow(turn, reduction) && !isSummarised(turn, reduction.summary),
  )
  return isMissed ? { ...reduction, summary: latest } : reduction
}

/** Oldest first. */
function cuttable(state: ConversationState, reduction: Reduction): readonly TurnState[] {
  const open = openTurn(state)
  return state.turns.filter((turn) => turn.opened && turn !== open && isInWindow(turn, reduction))
}

function retentionOf(fallback: Retention, tools: ToolSet): (toolName: string) => Retention {
  return (toolName) => tools.get(toolName)?.retention ?? fallback
}
