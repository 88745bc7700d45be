import type { JsonObject } from '../../base/json.ts'
import type { ConversationRecord } from '../../store/conversation-record.ts'
import { type FlowState, openOps } from './flow-state.ts'

/**
 * The messages that a session was waiting for when it was let go, kept beside its log: whoever goes on knows then that they were sent, and sends
 * none again to a conversation that was deleted since. By the ids of the operations. Null when there are none to keep.
 */
export function sentSettings(state: FlowState, sent: ReadonlySet<string>): JsonObject | null {
  const ids = openAgentIds(state).filter((id) => sent.has(id))
  return ids.length === 0 ? null : { [name]: ids }
}

export function sentIn(record: Pick<ConversationRecord, 'settings'> | null): Set<string> {
  const ids = record?.settings[name]
  return new Set(Array.isArray(ids) ? ids.filter((id): id is string => typeof id === 'string') : [])
}

export function openAgentIds(state: FlowState): string[] {
  return openOps(state).flatMap(({ op, id }) => (op.kind === 'agent' && id !== undefined ? [id] : []))
}

const name = 'sentMessages'
