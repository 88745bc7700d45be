import type { UnknownEvent } from '../base/errors/log-errors.ts'
import type { Json, JsonObject } from '../base/json.ts'
import type { CallEnd } from '../log/call-phase.ts'
import type { AssistantMsg, AssistantPart, Executor, SuspensionKind, UserPart } from '../log/events.ts'
import type { ConversationPhase } from '../log/fsm-state.ts'
import type { ConversationState, NoteItem } from '../log/state.ts'

/** What people see of a conversation: its recent messages, and the message being written. */
export type View = {
  readonly conversationId: string
  /** The last event in the view. */
  readonly seq: number
  readonly title: string | null
  readonly phase: ConversationPhase
  /** The application's state: the keys that the agent exposes. Null before it was set. */
  readonly state: JsonObject | null
  readonly activity: Activity | null
  readonly messages: readonly ViewMessage[]
  /** The newest notes of the application, oldest first; `seq` places them among the messages. A note may also be on the page before the view. */
  readonly notes: readonly NoteItem[]
  /** Set when older notes were left out for their size: the `seq` of the newest of them. `events` has them all. */
  readonly notesLeftOut?: number
  /** Pass it to `history` to read older messages; null when there are none. */
  readonly before: number | null
  /** The calls that wait for an answer, here and in child agents. */
  readonly pending: readonly PendingItem[]
  readonly children: Children
  /** Messages being written. A draft disappears when its message is committed or withdrawn. */
  readonly drafts: readonly Draft[]
  /** The latest progress of each running call. */
  readonly progress: { readonly [callId: string]: Json }
  /** The folded log that the rest is computed from. */
  readonly log: ConversationState
  /** Set when the log continues with an event that this version does not know: the view ends before it. */
  readonly unknownEvent?: UnknownEvent
}

/** A message as people see it. */
export type ViewMessage = ViewUserMessage | ViewAssistantMessage

/** A person's message. */
export type ViewUserMessage = {
  readonly role: 'user'
  readonly turnId: string
  readonly seq: number
  readonly at: number
  readonly who: string
  readonly parts: readonly UserPart[]
  readonly isQueued: boolean
  /** Set when the message comes from a snapshot. `at` is then when it was said, and `who` restored the conversation. */
  readonly restored?: true
  /** Set when parts are cut to their beginnings: about how many bytes are missing. The event at `seq` is complete. */
  readonly leftOut?: number
}

/** A message from the model. A message that was regenerated is not in the view. */
export type ViewAssistantMessage = {
  readonly role: 'assistant'
  readonly turnId: string
  readonly messageId: string
  readonly seq: number
  readonly at: number
  readonly status: AssistantMsg['status']
  /** Empty when the message is withheld. */
  readonly parts: readonly ViewPart[]
  readonly object?: Json
  /** The hook that did not pass the message. */
  readonly withheld?: { readonly hook: string }
  /** Set when the message comes from a snapshot. `at` is then when it was written. */
  readonly restored?: true
  /** As in a user's message. Calls have a `leftOut` of their own. */
  readonly leftOut?: number
}

/** A part of a message. A call includes its status and result. */
export type ViewPart = Exclude<AssistantPart, { type: 'call' }> | ViewCall

/** A call within a message: its phase, and how it ended. */
export type ViewCall = {
  readonly type: 'call'
  readonly callId: string
  readonly name: string
  readonly args: Json
  readonly executor: Executor
  readonly phase: 'waiting' | 'running' | 'pending' | 'ended'
  readonly end: CallEnd | null
  readonly edited?: { readonly before: Json; readonly after: Json }
  /** The id of the call in the conversation that a snapshot was taken of. That call may still be pending there. */
  readonly restoredFrom?: string
  readonly leftOut?: LeftOut
}

/** Set when long fields are cut to their beginnings: about how many bytes are missing, and which log events are complete. */
export type LeftOut = { readonly bytes: number; readonly seqs: readonly number[] }

/** A call that waits for an answer. Pass it to `approve`, `deny` or `answer`. */
export type PendingItem = {
  readonly conversationId: string
  readonly turnId: string
  readonly callId: string
  readonly round: number
  readonly kind: SuspensionKind
  readonly tool: string
  readonly args: Json
  readonly prompt: Json
  readonly schema: Json
  readonly expiresAt: number | null
  /** From the conversation the user talks to, through the calls of child agents, down to this call. */
  readonly path: CallPath
  /** As in `ViewCall`. */
  readonly restoredFrom?: string
  /** Covers `args`, `prompt` and `schema`. */
  readonly leftOut?: LeftOut
}

/** From the conversation the user talks to, down to a call of a child agent. */
export type CallPath = readonly { readonly conversationId: string; readonly callId: string }[]

/** The state of a conversation's child agents. */
export type Children = {
  /** The calls whose child, with everything below it, cannot continue until a call is answered. */
  readonly waiting: readonly string[]
  readonly pending: readonly PendingItem[]
}

/** A message that is being written. */
export type Draft = {
  readonly turnId: string
  readonly messageId: string
  /** How many deltas it contains. */
  readonly n: number
  readonly parts: readonly DraftPart[]
}

/** A part of a draft: what has arrived so far. */
export type DraftPart = {
  readonly type: 'text' | 'reasoning' | 'tool_input'
  readonly part: string
  readonly text: string
  readonly name?: string
}

/** Finer than the phase in the log; known only on the node that runs the turn. */
export type Activity = 'preparing' | 'streaming' | 'executing_tools'

/**
 * Broadcast, never committed; losing one loses nothing. `seq` is the log position when it was sent. `n` counts the deltas of one message from 1, so that a
 * reader who joins late knows which ones it has.
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
  /** A child agent has started or stopped waiting for an answer. Sent to watchers of the parent conversation. */
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
