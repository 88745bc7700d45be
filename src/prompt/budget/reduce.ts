import type { Agent, ContextSettings } from '../../define/agent.ts'
import type { Retention, ToolSet } from '../../define/tool.ts'
import { callEnd } from '../../log/call-phase.ts'
import type { ModelRef } from '../../log/events.ts'
import type { ConversationState, TurnState } from '../../log/state.ts'

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

export type ReduceInput = {
  readonly state: ConversationState
  readonly reduction: Reduction
  /** The newest summary, whether or not prompts show it yet. */
  readonly latest: Reduction['summary']
  readonly settings: Pick<ContextSettings, 'windowTurns' | 'retention'>
  readonly tools: ToolSet
  readonly limits: Pick<Limits, 'budget' | 'target'>
  /** Corrected tokens of the prompt after a reduction, without injections. */
  readonly count: (reduction: Reduction) => number
}

/**
 * The reduction for the next prompt. Unchanged while the prompt is within the budget; otherwise one that reaches the
 * target by the cheapest means: stubs for old results, then the available summary, then fewer turns. Pure. Never cuts
 * the open turn.
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
  return showsTheSame(before, next, input) ? before : withoutUnusedStubs(next, input)
}

/** A summary that arrives after its turns were cut is shown at once, because their content is missing until then. */
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
  // A stub stays a stub: restoring its result would shift everything after it.
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

/** Drops the stubs of calls that are no longer shown, so that they do not accumulate in a long conversation. */
function withoutUnusedStubs(reduction: Reduction, { state }: ReduceInput): Reduction {
  const shown = new Set(visibleTurns(state.turns, reduction).flatMap((turn) => turn.calls.map((call) => call.callId)))
  return { ...reduction, stubbed: new Map([...reduction.stubbed].filter(([callId]) => shown.has(callId))) }
}

/** All in tokens. */
type Limits = {
  /** Where reducing begins: the size of a prompt before hooks add to it. */
  readonly budget: number
  /** Where reducing ends. Lower than the budget, so that it does not happen at every turn. */
  readonly target: number
  /** The hard limit of a prompt. */
  readonly ceiling: number
}

const reducedShare = 0.6

export function limitsOf({ context, settings }: Pick<Agent, 'context' | 'settings'>, model: ModelRef): Limits {
  const ceiling = context.ceiling ?? Math.max(1, windowOf(model) - (settings.maxOutputTokens ?? 0))
  const working = Math.min(context.workingBudget, ceiling)
  // A reserve that would take everything is limited to half. Otherwise every call would begin with a reduction.
  const budget = Math.max(1, working - context.injectionReserve, Math.floor(working / 2))
  return { budget, target: Math.floor(budget * reducedShare), ceiling }
}

const unknownWindow = 128_000

/** Providers do not report context windows: known model families, and a cautious guess for the rest. */
function windowOf({ modelId }: ModelRef): number {
  for (const [pattern, tokens] of windows) if (pattern.test(modelId)) return tokens
  return unknownWindow
}

const windows: readonly (readonly [RegExp, number])[] = [
  [/gpt-4\.1|gemini/i, 1_000_000],
  [/gpt-5|codex/i, 400_000],
  [/claude|\bo[134]\b|o[134]-/i, 200_000],
  [/gpt-4o|gpt-4-turbo/i, 128_000],
]

/**
 * The ended calls whose results have been kept long enough, each with the reason: older than so many turns (`age`), or
 * not among the newest of their tool (`count`). Results of the newest message are always kept, because the model has
 * not read them yet.
 */
export function stubbedCalls(
  turns: readonly TurnState[],
  retentionOf: (toolName: string) => Retention,
): Map<string, string> {
  const newerOfTool = new Map<string, number>()
  const stubbed = new Map<string, string>()
  const unread = callsOfNewestMessage(turns.at(-1))
  for (const [age, turn] of turns.toReversed().entries()) {
    for (const call of turn.calls.toReversed()) {
      if (!callEnd(call)) continue
      const newer = newerOfTool.get(call.name) ?? 0
      newerOfTool.set(call.name, newer + 1)
      const retention = retentionOf(call.name)
      if (retention === 'never' || unread.has(call.callId)) continue
      if (retention.mode === 'age' && age > 0 && age >= retention.value)
        stubbed.set(call.callId, `it is ${age} turns old; the retention of '${call.name}' is ${retention.value} turns`)
      if (retention.mode === 'count' && newer >= retention.value)
        stubbed.set(
          call.callId,
          `there are ${newer} newer results of '${call.name}'; its retention is ${retention.value}`,
        )
    }
  }
  return stubbed
}

function callsOfNewestMessage(turn: TurnState | undefined): Set<string> {
  const newest = turn?.items.findLast((item) => item.type === 'assistant')
  const parts = newest?.type === 'assistant' ? newest.parts : []
  return new Set(parts.flatMap((part) => (part.type === 'call' ? [part.callId] : [])))
}

/** Describes what a reduction leaves out that the previous one did not. */
export function describeReduction(before: Reduction, after: Reduction): string {
  const news: string[] = []
  const stubs = [...after.stubbed.keys()].filter((callId) => !before.stubbed.has(callId)).length
  if (stubs > 0) news.push(`${stubs} old results became stubs`)
  if (after.summary && after.summary.toSeq !== before.summary?.toSeq)
    news.push(`version ${after.summary.version} of the summary is shown`)
  if (after.windowFrom > before.windowFrom) news.push(`turns before ${after.windowFrom} were left out`)
  return `a reduction: ${news.join('; ')}`
}

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
