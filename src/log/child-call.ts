import { callPhase } from './call-phase.ts'
import { type CallState, type ConversationState, keptMessages, openTurn, type TurnState, tokensUsed } from './state.ts'

const prefix = 'child-'

/** The conversation of the child agent that a call starts. Derived, so that starting it twice is starting it once. */
export function childIdOf(callId: string): string {
  return `${prefix}${callId}`
}

/** The turn of the child whose end is the result of the call. */
export function childTurnIdOf(callId: string): string {
  return `turn-${callId}`
}

/** The call whose child has this id, going by the name alone; null when no child has such a name. */
export function callIdOfChild(id: string): string | null {
  return id.startsWith(prefix) && id.length > prefix.length ? id.slice(prefix.length) : null
}

/** The calls that a child agent works on, or will as soon as it is started. */
export function childCalls(state: ConversationState): CallState[] {
  return (openTurn(state)?.calls ?? []).filter(isChildCall)
}

function isChildCall(call: CallState): boolean {
  const phase = callPhase(call)
  return phase.type === 'pending' && phase.round.kind === 'sub_agent'
}

/** How many levels of child agents there may be below a turn that does not say. */
export const defaultMaxDepth = 4

/** What a child agent may use at most: what is left to the turn that starts it. */
type ChildBudget = { readonly maxDepth: number; readonly maxSteps: number; readonly maxTokens: number }

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
