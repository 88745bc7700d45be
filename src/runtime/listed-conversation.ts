import type { ErrorCode } from '../errors/codes.ts'
import type { PerdureError } from '../errors/perdure-error.ts'
import type { ConversationRecord } from '../store/conversation-record.ts'

/** What a list tells of a conversation or a session. */
export type ListedConversation = ConversationRecord & {
  /** Why this process cannot work on it, where it has tried: its code differs from the record, or it does not know an event. Not in the log. */
  readonly problem?: { readonly code: ErrorCode; readonly message: string }
}

export function listedConversation(record: ConversationRecord, problem: PerdureError | null): ListedConversation {
  return problem ? { ...record, problem: { code: problem.code, message: problem.message } } : record
}
