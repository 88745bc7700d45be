import { callPhase } from './call-phase.ts'
import type { Json } from './json.ts'
import { type ConversationState, openTurn } from './state.ts'

/** Where a conversation is, by its log. Live events refine `running`. */
export type ConversationPhase = 'idle' | 'running' | 'awaiting_input' | 'terminating'

/**
 * A cache over the log, so that lists need no fold. The owner writes it with each commit that changes what it says, and when it lets go;
 * `lastSeq` tells how far it was known then. On disagreement the log wins.
 */
export type FsmState = {
  readonly state: ConversationPhase
  /** The callIds that wait for an answer. */
  readonly pending: Json
  readonly lastSeq: number
}

/** How a conversation stands in a list. */
export type ConversationStatus = 'active' | 'suspended' | 'idle' | 'ended'

/** What lists and inboxes need of a state. */
export function fsmStateOf(state: ConversationState): FsmState {
  return { state: phaseOf(state), pending: pendingCallIds(state), lastSeq: state.lastSeq }
}

/** Whether both read the same to whoever looks at a list. */
export function saysTheSame(left: FsmState, right: FsmState): boolean {
  return left.state === right.state && JSON.stringify(left.pending) === JSON.stringify(right.pending)
}

/** How the cached state reads in a list of conversations. */
export function statusOf(phase: ConversationPhase): ConversationStatus {
  if (phase === 'idle') return 'idle'
  return phase === 'awaiting_input' ? 'suspended' : 'active'
}

/** `awaiting_input` only when nothing runs or can run. */
export function phaseOf(state: ConversationState): ConversationPhase {
  const turn = openTurn(state)
  if (!turn) return 'idle'
  if (turn.cancel) return 'terminating'
  const open = turn.calls.map(callPhase).filter((phase) => phase.type !== 'ended')
  return open.length > 0 && open.every((phase) => phase.type === 'pending') ? 'awaiting_input' : 'running'
}

function pendingCallIds(state: ConversationState): string[] {
  const calls = openTurn(state)?.calls ?? []
  return calls.filter((call) => callPhase(call).type === 'pending').map((call) => call.callId)
}
