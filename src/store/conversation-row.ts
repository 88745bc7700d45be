import { ConversationUnreadableError } from '../base/errors/store-errors.ts'
import type { Json, JsonObject } from '../base/json.ts'
import { decode } from '../log/codec.ts'
import type { FsmState } from '../log/fsm-state.ts'
import type { ConversationRecord, Parent, UnreadableColumn } from './conversation-record.ts'
import type { StoredConversation } from './driver.ts'

/** Throws `ConversationUnreadableError` where a column is damaged. */
export function decodeConversation(row: StoredConversation): ConversationRecord {
  const { unreadable, ...record } = listConversation(row)
  if (unreadable) throw new ConversationUnreadableError(row.id, unreadable)
  return record
}

/** For lists, which one damaged row must not keep from everybody: what cannot be read is named, and stands as if it were empty. */
export function listConversation({
  idleSeq: _,
  ...row
}: StoredConversation & { idleSeq?: number }): ConversationRecord {
  const unreadable: UnreadableColumn[] = []
  const read = (column: UnreadableColumn): Json => {
    const text = row[column]
    const value = text === null ? null : decoded(text)
    if (value === undefined) unreadable.push(column)
    return value ?? null
  }
  const { quarantinedAt, quarantineEpoch, ...columns } = row
  const record = {
    ...columns,
    settings: (read('settings') ?? {}) as JsonObject,
    fsmState: read('fsmState') as unknown as FsmState | null,
    title: read('title') as string | null,
    parent: read('parent') as unknown as Parent | null,
    ...(quarantinedAt === null || quarantineEpoch === null
      ? {}
      : { quarantine: { at: quarantinedAt, epoch: quarantineEpoch } }),
  }
  return unreadable.length === 0 ? record : { ...record, unreadable }
}

/** Undefined when it is not JSON. */
export function decoded(text: string): Json | undefined {
  try {
    return decode(text)
  } catch {
    return undefined
  }
}
