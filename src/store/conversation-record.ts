import type { JsonObject } from '../base/json.ts'
import type { ConversationStatus, FsmState } from '../log/fsm-state.ts'
import type { PageBounds } from './store.ts'

/** A conversation of any tenant. */
export type ConversationRef = { readonly tenant: string; readonly id: string }

/** What is known of a conversation without reading its log. */
export type ConversationRecord = {
  readonly id: string
  readonly kind: ConversationKind
  /** The name of the agent or flow whose code works on it; null until somebody said. */
  readonly agent: string | null
  readonly status: ConversationStatus
  readonly settings: JsonObject
  readonly fsmState: FsmState | null
  readonly title: string | null
  readonly parent: Parent | null
  readonly lastSeq: number
  readonly createdAt: number
  readonly updatedAt: number
  /**
   * Only while it is quarantined: no process works on it, because the last five that did ended under it. `epoch` is what a commit must name to
   * write as its owner.
   */
  readonly quarantine?: { readonly at: number; readonly epoch: number }
  /**
   * Only in lists: what of it is damaged in the store and stands here as if it were empty. Absent where all could be read. The doctor says what
   * to do (`perdure doctor`).
   */
  readonly unreadable?: readonly UnreadableColumn[]
}

/** What is stored as JSON, and may be damaged. */
export type UnreadableColumn = 'settings' | 'fsmState' | 'title' | 'parent'

/** What a log is of. */
export type ConversationKind = 'conversation' | 'flow'

/** Where a conversation came from: `at` is set for a fork, `callId` for a child agent. */
export type Parent = { readonly id: string; readonly at?: number; readonly callId?: string }

/** What `putConversation` takes: only what is given is written; `settings` merge shallowly. */
export type ConversationAttrs = {
  readonly kind?: ConversationKind
  readonly agent?: string
  readonly status?: ConversationStatus
  readonly settings?: JsonObject
  readonly fsmState?: FsmState
  readonly title?: string | null
  readonly parent?: Parent
}

/** `before` is the id of the last conversation of the page before. */
export type ConversationFilter = PageBounds & {
  readonly status?: ConversationStatus
  readonly agent?: string
  /** Only the direct forks of this one. */
  readonly forkOf?: string
  readonly before?: string
}
