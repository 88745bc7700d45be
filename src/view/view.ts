import type { UnknownEvent } from '../base/errors/log-errors.ts'
import type { Json, JsonObject } from '../base/json.ts'
import type { CallEnd } from '../log/call-phase.ts'
import type { AssistantMsg, AssistantPart, DoneBefore, Executor, SuspensionKind, UserPart } from '../log/events.ts'
import type { ConversationPhase } from '../log/fsm-state.ts'
import type { ConversationState, NoteItem } from '../log/state.ts'

/** What people see of a conversation: its recent messages, and the message being written. */
export type View = {
  readonly conversationId: string
  /** The last event in the view. */
  readonly seq: number
  readonly title: string | null
  readonly phase: ViewPhase
  /** The application's state: the keys that the agent exposes. Null before it was set. */
  readonly state: JsonObject | null
  readonly activity: Activity | null
  /** Set while the open turn cannot continue although it waits for no answer. It continues when the cause is gone. */
  readonly problem?: ViewProblem
  /** Since when no process takes the conversation, because it, its agent or its tenant is paused. As of when the view was read. */
  readonly paused?: { readonly at: number }
  readonly messages: readonly ViewMessage[]
  /** The newest notes of the application, oldest first; `seq` places them among the messages. While the view has no messages, the page before it has them too. */
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

/** The phase of a conversation as people read it. `waiting`: nothing happens until a call is answered. The log calls that `awaiting_input`. */
export type ViewPhase = Exclude<ConversationPhase, 'awaiting_input'> | 'waiting'

/** Why a turn waits: the scope of the user who opened it cannot be restored. `at`: since when. */
export type ViewProblem = {
  readonly code: 'scope_missing'
  readonly message: string
  readonly who: string
  readonly at: number
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
  /** Set on the first message of a turn that replaced others: the number of variants, including this one. */
  readonly variants?: number
  /**
   * Set together with `variants`: where the previous variant ends. `fork({ at: previousSeq })` continues from that one; its view has the `previousSeq` of the
   * one before.
   */
  readonly previousSeq?: number
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
  /** Why the message ended: `stop` and `tool-calls` when the model was done, `length` or `content-filter` when it was cut off, `error` when its stream broke off. */
  readonly finishReason: string
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
  /** `queued`: it has not begun. `waiting`: for an answer. */
  readonly phase: 'queued' | 'running' | 'waiting' | 'ended'
  readonly end: CallEnd | null
  readonly edited?: { readonly before: Json; readonly after: Json }
  /** One line that says what the call will do, if its tool provides it. */
  readonly description?: string
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
  /** For people, in one line: what the call will do, where its tool says so; else the prompt, where that is text. */
  readonly description?: string
  readonly args: Json
  readonly prompt: Json
  readonly schema: Json
  readonly expiresAt: number | null
  /** From the conversation the user talks to, through the calls of child agents, down to this call. */
  readonly path: CallPath
  /** Set when a variant that this turn replaces ran the same tool with the same arguments: that call, and how it ended. */
  readonly doneBefore?: DoneBefore
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
  /** Which attempt at the message it is, when not the first. */
  readonly attempt?: number
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
  | { readonly type: 'phase_changed'; readonly phase: ViewPhase | Activity }
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

/**
 * A piece of a message that is being written. `part` tells the pieces of one text from those of the next. `attempt` counts attempts at a message and is absent
 * for the first; each has its own `messageId`, and a later one replaces the drafts of those before it.
 */
export type Delta = {
  readonly turnId: string
  readonly messageId: string
  readonly n: number
  readonly attempt?: number
  readonly part: string
  readonly delta: string
}
