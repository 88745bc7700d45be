import type { ErrorCode } from '../base/errors/codes.ts'
import type { ConversationRecord } from '../store/conversation-record.ts'
import type { ModelCall } from '../store/model-call.ts'

export type { Explanation } from '../prompt/explain.ts'

/** What a list tells of a conversation. */
export type RemoteRecord = Omit<ConversationRecord, 'settings' | 'fsmState' | 'quarantine'> & {
  /** Only while it is quarantined: no process works on it until an operator releases it. */
  readonly quarantinedAt?: number
  /** Why the server cannot work on it: `conversation_quarantined`, `conversation_unreadable`, or what it met where it has tried. */
  readonly problem?: { readonly code: ErrorCode }
}

/** A row of the audit, with the prompt where the agent has `audit: 'full'`. */
export type RemoteModelCall = ModelCall

/** Without the prompt. */
export type ModelCallSummary = Omit<ModelCall, 'renderedContext'>

/** A page of a list: those before the one of this id. */
export type RemotePage = { readonly before?: string; readonly limit?: number }

/** What something was forked from, and so on to the first; `at` is the last event that was copied. */
export type Lineage = readonly { readonly id: string; readonly at: number }[]
