import type { ContextSettings } from '../../define/context-settings.ts'
import type { Retention, ToolSet } from '../../define/tool.ts'
import type { ConversationState } from '../../log/state.ts'
import { isInWindow, isSummarised, type Reduction, visibleTurns } from '../render/reduction.ts'
import type { Limits } from './limits.ts'
import { stubbedCalls } from './retention.ts'

export type ReduceInput = {
  readonly state: ConversationState
  readonly reduction: Reduction
  /** The newest summary there is, whether it is shown yet or not. */
  readonly latest: Reduction['summary']
  readonly settings: Pick<ContextSettings, 'windowTurns' | 'retention'>
  readonly tools: ToolSet
  readonly limits: Pick<Limits, 'budget' | 'target'>
  /** Tokens of the prompt that a reduction gives, corrected, without injections. */
  readonly count: (reduction: Reduction) => number
}

/**
 * The reduction for the next prompt: the same one while the prompt is within the budget, else one that brings it down to the target, by the
 * cheapest means that do: stubs for old results, then the summary that is at hand, then fewer turns. Pure. The open turn is never cut.
 */
export function reduce(input: ReduceInput): Reduction {
  const { state, limits, count } = input
  const before = withLateSummary(input)
  if (count(before) <= limits.budget) return before
  let next = withStubs(before, input)
  if (count(next) > limits.target) next = withWindow(withSummary(next, input), input)
  for (const turn of visibleTurns(state.turns, next)) {
    if (!turn.end || count(next) <= limits.target) break
    next = { ...next, windowFrom: turn.firstSeq + 1 }
  }
  return showsTheSame(before, next, input) ? before : tidied(next, input)
}

/** A summary that came after its turns had to be cut is shown at once: what they said is missing until then. */
function withLateSummary({ state, reduction, latest }: ReduceInput): Reduction {
  if (!isNewer(latest, reduction)) return reduction
  const isMissed = state.turns.some(
    (turn) => turn.opened && !isInWindow(turn, reduction) && !isSummarised(turn, reduction.summary),
  )
  return isMissed ? { ...reduction, summary: latest } : reduction
}

export function withStubs(reduction: Reduction, { state, settings, tools }: ReduceInput): Reduction {
  const retentionOf = (name: string): Retention => tools.get(name)?.retention ?? settings.retention
  const stubbed = stubbedCalls(visibleTurns(state.turns, reduction), retentionOf)
  // What is a stub stays one: a result that came back would move everything after it.
  return { ...reduction, stubbed: new Map([...stubbed, ...reduction.stubbed]) }
}

export function withSummary(reduction: Reduction, { latest }: ReduceInput): Reduction {
  return isNewer(latest, reduction) ? { ...reduction, summary: latest } : reduction
}

function withWindow(reduction: Reduction, { state, settings }: ReduceInput): Reduction {
  const visible = visibleTurns(state.turns, reduction)
  const first = visible.length > settings.windowTurns ? visible.at(-settings.windowTurns) : undefined
  return first ? { ...reduction, windowFrom: Math.max(reduction.windowFrom, first.firstSeq) } : reduction
}

function isNewer(latest: Reduction['summary'], { summary }: Reduction): boolean {
  return latest !== null && latest.toSeq > (summary?.toSeq ?? 0)
}

function showsTheSame(left: Reduction, right: Reduction, { state }: ReduceInput): boolean {
  if (left.summary !== right.summary) return false
  const [before, after] = [left, right].map((reduction) => visibleTurns(state.turns, reduction))
  if (before!.length !== after!.length) return false
  return after!.every((turn) =>
    turn.calls.every(({ callId }) => left.stubbed.has(callId) === right.stubbed.has(callId)),
  )
}

/** Without the stubs of calls that are not shown any more, so that a long conversation does not gather them. */
function tidied(reduction: Reduction, { state }: ReduceInput): Reduction {
  const shown = new Set(visibleTurns(state.turns, reduction).flatMap((turn) => turn.calls.map((call) => call.callId)))
  return { ...reduction, stubbed: new Map([...reduction.stubbed].filter(([callId]) => shown.has(callId))) }
}
