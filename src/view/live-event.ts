import type { Json } from '../base/json.ts'
import type { SuspensionKind } from '../log/events.ts'
import type { Children } from './view.ts'

/** Finer than what the log yields; known only where the turn runs. */
export type Activity = 'preparing' | 'streaming' | 'executing_tools'

/**
 * Broadcast, never committed; losing one loses nothing. `seq` is the log position it was sent at. `n` counts the deltas of one message from 1,
 * so that a reader who joined late knows which it has.
 */
export type LiveEvent = { readonly conversationId: string; readonly seq: number } & LiveContent

export type LiveContent =
  | { readonly type: 'state_changed'; readonly state: 'idle' | 'running' | 'awaiting_input' | 'terminating' | Activity }
  | { readonly type: 'turn_started'; readonly turnId: string }
  | (Delta & { readonly type: 'text_delta' })
  | (Delta & { readonly type: 'reasoning_delta' })
  | (Delta & { readonly type: 'tool_input_delta'; readonly callId: string; readonly name: string })
  | { readonly type: 'message_completed'; readonly turnId: string; readonly messageId: string }
  | { readonly type: 'message_discarded'; readonly turnId: string; readonly messageId: string }
  | { readonly type: 'tool_call_started'; readonly callId: string; readonly name: string; readonly attempt: number }
  | { readonly type: 'tool_progress'; readonly callId: string; readonly payload: Json }
  | { readonly type: 'tool_call_resolved'; readonly callId: string; readonly result: Json }
  | { readonly type: 'tool_call_errored'; readonly callId: string; readonly error: string; readonly userFacing?: true }
  | { readonly type: 'suspended'; readonly callId: string; readonly round: number; readonly kind: SuspensionKind }
  /** A child agent has begun or ceased to wait for somebody; told to whoever watches the conversation that called it. */
  | (Children & { readonly type: 'children_changed' })
  | { readonly type: 'turn_completed'; readonly turnId: string }
  | { readonly type: 'turn_failed'; readonly turnId: string; readonly reason: string | null }
  | { readonly type: 'turn_halted'; readonly turnId: string; readonly reason: string | null }
  | { readonly type: 'cancelled'; readonly turnId: string }

/** A piece of a message that is being written. `part` tells the pieces of one text from those of the next. */
export type Delta = {
  readonly turnId: string
  readonly messageId: string
  readonly n: number
  readonly part: string
  readonly delta: string
}
