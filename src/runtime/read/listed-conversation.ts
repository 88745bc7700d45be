import type { ErrorCode } from '../../base/errors/codes.ts'
import type { PerdureError } from '../../base/errors/perdure-error.ts'
import { ConversationQuarantinedError } from '../../base/errors/runtime-errors.ts'
import { ConversationUnreadableError } from '../../base/errors/store-errors.ts'
import type { ConversationRecord } from '../../store/conversation-record.ts'

/** What a list tells of a conversation or a session. */
export type ListedConversation = ConversationRecord & {
  /**
   * Why this process cannot work on it: it is quarantined, its row is damaged, or, where it has tried, its code differs from the record, or it
   * does not know an event. Not in the log.
   */
  readonly problem?: { readonly code: ErrorCode; readonly message: string }
}

export function listedConversation(record: ConversationRecord, problem: PerdureError | null): ListedConversation {
  const told = problemIn(record) ?? problem
  return told ? { ...record, problem: { code: told.code, message: told.message } } : record
}

function problemIn({ id, unreadable, quarantine }: ConversationRecord): PerdureError | null {
  if (unreadable) return new ConversationUnreadableError(id, unreadable)
  return quarantine ? new ConversationQuarantinedError(id) : null
}
