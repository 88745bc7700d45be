import type { Json, JsonObject } from '../../base/json.ts'

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
