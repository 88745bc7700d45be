import { keptMessages, type TurnState } from './state.ts'
import { tokensUsed } from './turn-usage.ts'

/** How many levels of child agents there may be below a turn that does not say. */
export const defaultMaxDepth = 4

/** What a child agent may use at most: what is left to the turn that starts it. */
export type ChildBudget = { readonly maxDepth: number; readonly maxSteps: number; readonly maxTokens: number }

export function childBudget(turn: TurnState): ChildBudget {
  const { maxDepth = defaultMaxDepth, maxSteps, maxTokens } = turn.options
  return {
    maxDepth: maxDepth - 1,
    maxSteps: maxSteps === undefined ? Number.POSITIVE_INFINITY : maxSteps - keptMessages(turn).length,
    maxTokens: maxTokens === undefined ? Number.POSITIVE_INFINITY : maxTokens - tokensUsed(turn),
  }
}

/** Why no child agent may be started, as the model reads it; null when one may. */
export function childRefusal(turn: TurnState): string | null {
  const left = childBudget(turn)
  if (left.maxDepth < 0) return 'not started: agents may not call each other any deeper (max_depth)'
  if (left.maxSteps < 1) return 'not started: no steps are left for another agent (max_steps)'
  return left.maxTokens < 1 ? 'not started: no tokens are left for another agent (max_tokens)' : null
}
