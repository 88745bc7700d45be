import type { Agent } from '../../define/agent.ts'
import type { ModelRef } from '../../log/events.ts'
import { windowOf } from './window-of.ts'

/** All in tokens. */
export type Limits = {
  /** Where reducing begins: what a prompt may have before hooks add to it. */
  readonly budget: number
  /** Where reducing ends, so that it happens in jumps and not at every turn. */
  readonly target: number
  /** What no prompt may pass. */
  readonly ceiling: number
}

const reducedShare = 0.6

export function limitsOf({ context, settings }: Pick<Agent, 'context' | 'settings'>, model: ModelRef): Limits {
  const ceiling = context.ceiling ?? Math.max(1, windowOf(model) - (settings.maxOutputTokens ?? 0))
  const working = Math.min(context.workingBudget, ceiling)
  // A reserve that would take everything is cut to half, else every call would begin with a reduction.
  const budget = Math.max(1, working - context.injectionReserve, Math.floor(working / 2))
  return { budget, target: Math.floor(budget * reducedShare), ceiling }
}
