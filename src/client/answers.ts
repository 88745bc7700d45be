import type { ConversationRecord } from '../store/conversation-record.ts'
import type { ModelCall } from '../store/model-call.ts'

export type { Explanation } from '../context/explain.ts'

/** What a list tells of a conversation. */
export type RemoteRecord = Omit<ConversationRecord, 'settings' | 'fsmState'>

export type RemoteModelCall = ModelCall

/** Without the prompt. */
export type ModelCallSummary = Omit<ModelCall, 'renderedContext'>
