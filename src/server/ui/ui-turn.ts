import type { Json, JsonObject } from '../../base/json.ts'
import type { SuspensionKind, TurnStatus } from '../../log/events.ts'
import type { PendingItem } from '../../view/view.ts'

/** What a UI message is to show of one turn: a step for each message of the model. Plain data, and a function of the view alone. */
export type UiTurn = {
  /** Also the id of the UI message. */
  readonly turnId: string
  readonly steps: readonly UiStep[]
  /** How many steps before these are not shown, because the turn is long. */
  readonly stepsBefore: number
  readonly standing: Standing
  /** The latest progress of each call that runs. */
  readonly progress: { readonly [callId: string]: Json }
  /** What child agents wait for; it is in their logs, not in this one. */
  readonly elsewhere: readonly PendingItem[]
}

/** `reason` of a failed turn is only its code: the rest may name what a page must not know. */
export type Standing = {
  readonly status: 'running' | 'waiting' | TurnStatus
  readonly reason: string | null
  readonly finishReason: FinishReason
}

export type UiStep = {
  readonly messageId: string
  readonly parts: readonly UiPart[]
  /** Only the beginnings of what is long in it are here: a page that shows all of it may keep that. */
  readonly isAbridged?: boolean
}

/** `key` is unique in its step, and the same before and after the message is committed. */
export type UiPart = UiText | UiCall | UiThing | UiQuestion

export type UiText = {
  readonly kind: 'text' | 'reasoning'
  readonly key: string
  readonly text: string
  readonly isDone: boolean
  readonly providerMetadata?: JsonObject
}

export type UiThing = { readonly kind: 'thing'; readonly key: string; readonly chunk: ThingChunk }

/** Something that is asked with a form. */
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
  /** The newest approval it was asked for. */
  readonly approval: UiApproval | null
  /** Whether the page may run it or fill it in at some time; then its input is only made available when that time has come. */
  readonly isForPage: boolean
  readonly isProviderRun: boolean
  readonly providerMetadata?: JsonObject
}

/**
 * `writing`: its input comes in. `held`: nobody is to act on it now. `ready`: it runs. `awaited`: somebody else is to run it or to answer. `asked`:
 * somebody is to approve it. `refused`: the model wrote it and it was never made.
 */
export type CallStage =
  | { readonly type: 'writing'; readonly text: string }
  | { readonly type: 'held' | 'ready' | 'awaited' | 'asked' | 'denied' }
  | { readonly type: 'output'; readonly output: Json }
  | { readonly type: 'error' | 'refused'; readonly errorText: string }

/** `approved` is null until somebody has answered, and when nobody did in time. */
export type UiApproval = { readonly id: string; readonly approved: boolean | null; readonly reason?: string }

/**
 * One piece of a UI message stream, as every version 6 of the AI SDK reads it. The union is closed: a client ends at a chunk it does not know, and
 * the first ones also at a member they do not know. The last two came with version 7, and are only sent to who asked for them.
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
  | ThingChunk
  | { readonly type: `data-${string}`; readonly id: string; readonly data: JsonObject; readonly transient?: true }
  | { readonly type: 'message-metadata'; readonly messageMetadata: JsonObject }
  | { readonly type: 'finish'; readonly finishReason: FinishReason; readonly messageMetadata: JsonObject }
  | { readonly type: 'abort' }
  | { readonly type: 'error'; readonly errorText: string }
  | { readonly type: 'reset-step' }
  | {
      readonly type: 'tool-approval-response'
      readonly approvalId: string
      readonly approved: boolean
      readonly reason?: string
    }

/** Parts that come whole. */
export type ThingChunk =
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
