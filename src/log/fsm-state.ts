import type { Json } from '../base/json.ts'
import { callPhase } from './call-phase.ts'
import { type CallState, type ConversationState, openTurn, type TurnState } from './state.ts'

/** The phase of a conversation, decided from its log. Live events refine `running`. */
export type ConversationPhase = 'idle' | 'running' | 'awaiting_input' | 'terminating'

/**
 * A cache over the log, so that lists need no fold. The owner writes it with each commit that changes it, and when it releases the lease; `lastSeq` says how
 * far the owner had read. On disagreement the log wins.
 */
export type FsmState = {
  readonly state: ConversationPhase
  /** The ids of the calls that wait for an answer. */
  readonly pending: Json
  readonly lastSeq: number
}

/** The status of a conversation or session in a list. Only sessions are `sleeping` or `failed`; one that is `idle` is a fork that was not continued. */
export type ConversationStatus = 'active' | 'suspended' | 'sleeping' | 'idle' | 'ended' | 'failed'

/** The cached state that lists and inboxes read. */
export function fsmStateOf(state: ConversationState): FsmState {
  return { state: phaseOf(state), pending: pendingCallIds(state), lastSeq: state.lastSeq }
}

/** Whether a list would show both states the same way. */
export function saysTheSame(left: FsmState, right: FsmState): boolean {
  return left.state === right.state && JSON.stringify(left.pending) === JSON.stringify(right.pending)
}

/** The status that a list shows for a phase. */
export function statusOf(phase: ConversationPhase): ConversationStatus {
  if (phase === 'idle') return 'idle'
  return phase === 'awaiting_input' ? 'suspended' : 'active'
}

export function phaseOf(state: ConversationState): ConversationPhase {
  const turn = openTurn(state)
  return phaseOfTurn(turn, tallyOf(turn?.calls ?? []))
}

/** How many calls of a turn are open, and how many of those wait for an answer. */
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

/** The phase for the open turn; `turn` is null where there is none. `awaiting_input` only when nothing runs or can run. */
export function phaseOfTurn(turn: TurnState | null, { open, pending }: CallTally): ConversationPhase {
  if (!turn) return 'idle'
  if (turn.cancel) return 'terminating'
  return open > 0 && open === pending ? 'awaiting_input' : 'running'
}

function pendingCallIds(state: ConversationState): string[] {
  const calls = openTurn(state)?.calls ?? []
  return calls.filter((call) => callPhase(call).type === 'pending').map((call) => call.callId)
}
