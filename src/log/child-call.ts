import { callPhase } from './call-phase.ts'
import { type CallState, type ConversationState, keptMessages, openTurn, type TurnState, tokensUsed } from './state.ts'

const prefix = 'child-'

/** The id of the child conversation that a call starts. It is derived from the call, so starting the child twice starts it once. */
export function childIdOf(callId: string): string {
  return `${prefix}${callId}`
}

/** The turn of the child whose end is the call's result. */
export function childTurnIdOf(callId: string): string {
  return `turn-${callId}`
}

/** The call that a child conversation belongs to, read from its id; null when the id is not that of a child. */
export function callIdOfChild(id: string): string | null {
  return id.startsWith(prefix) && id.length > prefix.length ? id.slice(prefix.length) : null
}

/** The calls that a child agent works on, or will work on once it is started. */
export function childCalls(state: ConversationState): CallState[] {
  return (openTurn(state)?.calls ?? []).filter(isChildCall)
}

function isChildCall(call: CallState): boolean {
  const phase = callPhase(call)
  return phase.type === 'pending' && phase.round.kind === 'sub_agent'
}

/** Default for `maxDepth`: how many levels of child agents a turn may have below it. */
export const defaultMaxDepth = 4

/** The most a child agent may use: what its parent turn has left. */
type ChildBudget = { readonly maxDepth: number; readonly maxSteps: number; readonly maxTokens: number }

export function childBudget(turn: TurnState): ChildBudget {
  const { maxDepth = defaultMaxDepth, maxSteps, maxTokens } = turn.options
  return {
    maxDepth: maxDepth - 1,
    maxSteps: maxSteps === undefined ? Number.POSITIVE_INFINITY : maxSteps - keptMessages(turn).length,
    maxTokens: maxTokens === undefined ? Number.POSITIVE_INFINITY : maxTokens - tokensUsed(turn),
  }
}

/** Why no child agent may be started, as text for the model; null when one may. */
export function childRefusal(turn: TurnState): string | null {
  const left = childBudget(turn)
  if (left.maxDepth < 0) return 'not started: the limit on nested agents is reached (max_depth)'
  if (left.maxSteps < 1) return 'not started: no steps are left for a child agent (max_steps)'
  return left.maxTokens < 1 ? 'not started: no tokens are left for a child agent (max_tokens)' : null
}
