import type { Json } from '../base/json.ts'
import { callPhase } from './call-phase.ts'
import { type CallState, type ConversationState, openTurn, type TurnState } from './state.ts'

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

export function phaseOf(state: ConversationState): ConversationPhase {
  const turn = openTurn(state)
  return phaseOfTurn(turn, tallyOf(turn?.calls ?? []))
}

/** How many calls of a turn have not ended, and how many of these wait for an answer. */
export type CallTally = { readonly open: number; readonly pending: number }

export function tallyOf(calls: readonly CallState[]): CallTally {
  let [open, pending] = [0, 0]
  for (const call of calls) {
    const { type } = callPhase(call)
    if (type !== 'ended') open += 1
    if (type === 'pending') pending += 1
  }
  return { open, pending }
}

/** Of the open turn, or null where there is none. `awaiting_input` only when nothing runs or can run. */
export function phaseOfTurn(turn: TurnState | null, { open, pending }: CallTally): ConversationPhase {
  if (!turn) return 'idle'
  if (turn.cancel) return 'terminating'
  return open > 0 && open === pending ? 'awaiting_input' : 'running'
}

function pendingCallIds(state: ConversationState): string[] {
  const calls = openTurn(state)?.calls ?? []
  return calls.filter((call) => callPhase(call).type === 'pending').map((call) => call.callId)
}
