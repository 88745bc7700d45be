import type { Json } from '../../base/json.ts'
import { tagOf } from '../../define/flow-requests.ts'
import type { ConversationRecord } from '../../store/conversation-record.ts'
import { type FlowState, pendingOp } from './flow-state.ts'

/** Where a session stands when it cannot go on by itself. */
export type FlowStanding<Result = Json> =
  | { readonly status: 'suspended'; readonly tag: Json }
  | { readonly status: 'done'; readonly result: Result }
  | { readonly status: 'failed'; readonly error: string }

/** Where a session is. `suspended`: somebody has to answer. One that sleeps or waits for an agent is `running`. */
/** `diverged`: it would run, but the code that this process has for it differs from its record, and nothing was written. */
export type FlowStatus = 'none' | 'running' | 'suspended' | 'done' | 'failed' | 'diverged'

/**
 * How a session stands when it cannot go on by itself; null while it can. The log alone does not tell whether the code has seen its last outcome,
 * so a session counts as suspended only when whoever worked on it has let it go as such.
 */
export function standingOf(state: FlowState, record: ConversationRecord | null): FlowStanding | null {
  if (state.ended) return state.ended
  const pending = isLetGo(state, record) ? pendingOp(state) : null
  return pending && { status: 'suspended', tag: tagOf(pending.op) }
}

export function isLetGo(state: FlowState, record: ConversationRecord | null): boolean {
  return record?.status === 'suspended' && record.lastSeq === state.lastSeq
}
