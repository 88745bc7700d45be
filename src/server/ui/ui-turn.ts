import type { Json, JsonObject } from '../../base/json.ts'
import type { SuspensionKind, TurnStatus } from '../../log/events.ts'
import type { PendingItem } from '../../view/view.ts'

/** What a UI message shows of one turn: one step per model message. Plain data, computed from the view alone. */
export type UiTurn = {
  /** Also the id of the UI message. */
  readonly turnId: string
  readonly steps: readonly UiStep[]
  /** How many earlier steps are left out because the turn is long. */
  readonly stepsBefore: number
  readonly standing: Standing
  /** The latest progress of each call that runs. */
  readonly progress: { readonly [callId: string]: Json }
  /** Set when the turn is there in place of others: how many variants there are, and where the one before ends. */
  readonly replaced?: { readonly variants: number; readonly previousSeq: number }
  /** Questions of child agents. They are in the logs of the children. */
  readonly childQuestions: readonly PendingItem[]
}

/** For a failed turn, `reason` is only the error code: the text may contain what a page must not see. */
export type Standing = {
  readonly status: 'running' | 'waiting' | TurnStatus
  readonly reason: string | null
  readonly finishReason: FinishReason
}

export type UiStep = {
  readonly messageId: string
  readonly parts: readonly UiPart[]
  /** Long parts are cut short here. A page that shows them whole may keep them. */
  readonly isAbridged?: boolean
}

/** `key` is unique within its step, and stays the same when the message is committed. */
export type UiPart = UiText | UiCall | UiAttachment | UiQuestion

export type UiText = {
  readonly kind: 'text' | 'reasoning'
  readonly key: string
  readonly text: string
  readonly isDone: boolean
  readonly providerMetadata?: JsonObject
}

export type UiAttachment = { readonly kind: 'attachment'; readonly key: string; readonly chunk: AttachmentChunk }

/** A question that is asked with a form. */
export type UiQuestion = { readonly kind: 'question'; readonly key: string; readonly data: Question }

export type Question = JsonObject & {
  readonly callId: string
  readonly round: number
  readonly kind: SuspensionKind
  readonly status: 'open' | 'resolved' | 'denied' | 'expired' | 'cancelled'
}

export type UiCall = {
  readonly kind: 'call'
  /** The call's id. */
  readonly key: string
  readonly name: string
  readonly input: Json
  readonly stage: CallStage
  /** The newest approval requested for the call. */
  readonly approval: UiApproval | null
  /**
   * Whether the page may have to run the call or answer it. Its input becomes available only when that time has come.
   */
  readonly isForPage: boolean
  readonly isProviderRun: boolean
  readonly providerMetadata?: JsonObject
}

/**
 * `writing`: the input is arriving. `held`: must not be acted on yet. `ready`: running. `awaited`: a client runs it or
 * a person answers it. `asked`: waits for approval. `refused`: the model wrote it, but it was never made.
 */
export type CallStage =
  | { readonly type: 'writing'; readonly text: string }
  | { readonly type: 'held' | 'ready' | 'awaited' | 'asked' | 'denied' }
  | { readonly type: 'output'; readonly output: Json }
  | { readonly type: 'error' | 'refused'; readonly errorText: string }

/** `approved` is null until the approval is answered, and when it expired. */
export type UiApproval = { readonly id: string; readonly approved: boolean | null; readonly reason?: string }

/**
 * One chunk of a UI message stream of AI SDK 6. The union is closed: a client fails on an unknown chunk, and early
 * versions also on an unknown member. The last two came with version 7 and are sent only on request.
 */
export type UiChunk =
  | { readonly type: 'start'; readonly messageId: string; readonly messageMetadata: JsonObject }
  | { readonly type: 'start-step' | 'finish-step' }
  | { readonly type: 'text-start' | 'reasoning-start'; readonly id: string }
  | { readonly type: 'text-delta' | 'reasoning-delta'; readonly id: string; readonly delta: string }
  | { readonly type: 'text-end' | 'reasoning-end'; readonly id: string; readonly providerMetadata?: JsonObject }
  | (Omit<ToolInput, 'providerMetadata'> & { readonly type: 'tool-input-start' })
  | { readonly type: 'tool-input-delta'; readonly toolCallId: string; readonly inputTextDelta: string }
  | (ToolInput & { readonly type: 'tool-input-available'; readonly input: Json })
  | (ToolInput & { readonly type: 'tool-input-error'; readonly input: Json; readonly errorText: string })
  | { readonly type: 'tool-approval-request'; readonly toolCallId: string; readonly approvalId: string }
  | (ToolOutput & { readonly type: 'tool-output-available'; readonly output: Json })
  | (ToolOutput & { readonly type: 'tool-output-error'; readonly errorText: string })
  | { readonly type: 'tool-output-denied'; readonly toolCallId: string }
  | AttachmentChunk
  | { readonly type: `data-${string}`; readonly id: string; readonly data: JsonObject; readonly transient?: true }
  | { readonly type: 'message-metadata'; readonly messageMetadata: JsonObject }
  | { readonly type: 'finish'; readonly finishReason: FinishReason; readonly messageMetadata: JsonObject }
  | { readonly type: 'abort' }
  | { readonly type: 'error'; readonly errorText: string }
  | { readonly type: 'reset-step' }
  /** For clients that reconnect by themselves: the rest of the turn is in another stream. */
  | { readonly type: 'resume' }
  /** For the same clients: everything before it happened before the stream began. */
  | { readonly type: 'caught-up' }
  | {
      readonly type: 'tool-approval-response'
      readonly approvalId: string
      readonly approved: boolean
      readonly reason?: string
    }

/** Parts that are sent in one chunk. */
export type AttachmentChunk =
  | { readonly type: 'source-url'; readonly sourceId: string; readonly url: string; readonly title?: string }
  | {
      readonly type: 'source-document'
      readonly sourceId: string
      readonly mediaType: string
      readonly title: string
      readonly filename?: string
    }
  | { readonly type: 'file'; readonly url: string; readonly mediaType: string }

export type FinishReason = 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'error' | 'other'

type ToolInput = {
  readonly toolCallId: string
  readonly toolName: string
  readonly providerExecuted?: true
  readonly providerMetadata?: JsonObject
}

type ToolOutput = { readonly toolCallId: string; readonly providerExecuted?: true }
