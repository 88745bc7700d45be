import { callPhase } from './call-phase.ts'
import { type CallState, type ConversationState, openTurn } from './state.ts'

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
