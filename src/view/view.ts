import type { UnknownEvent } from '../base/errors/log-errors.ts'
import type { Json } from '../base/json.ts'
import type { CallEnd } from '../log/call-phase.ts'
import type { AssistantMsg, AssistantPart, Executor, SuspensionKind, UserPart } from '../log/events.ts'
import type { ConversationPhase } from '../log/fsm-state.ts'
import type { ConversationState } from '../log/state.ts'

/** What a person is shown of a conversation: the working set of its log, and what is known of the message being written. */
export type View = {
  readonly conversationId: string
  /** The last event in it. */
  readonly seq: number
  readonly title: string | null
  readonly state: ConversationPhase
  readonly activity: Activity | null
  readonly messages: readonly ViewMessage[]
  /** Pass it to `history` for the messages before these; null when there are none. */
  readonly before: number | null
  /** What waits for somebody, here and in child agents. */
  readonly pending: readonly PendingItem[]
  readonly children: Children
  /** Messages being written. Gone when they are committed or withdrawn. */
  readonly drafts: readonly Draft[]
  /** The latest progress of each running call. */
  readonly progress: { readonly [callId: string]: Json }
  /** What the rest is computed from. */
  readonly log: ConversationState
  /** Where the log goes on with an event that this version does not know: the view ends before it. Absent where all was read. */
  readonly unknownEvent?: UnknownEvent
}

/** A message, as people see it. */
export type ViewMessage = ViewUserMessage | ViewAssistantMessage

/** A message of a person. */
export type ViewUserMessage = {
  readonly role: 'user'
  readonly turnId: string
  readonly seq: number
  readonly at: number
  readonly who: string
  readonly parts: readonly UserPart[]
  readonly isQueued: boolean
  /** These are only the beginnings of its parts: about so many bytes are missing. The event at `seq` has all of it. */
  readonly leftOut?: number
}

/** A message of the model, as people see it: what was regenerated is not in the view. */
export type ViewAssistantMessage = {
  readonly role: 'assistant'
  readonly turnId: string
  readonly messageId: string
  readonly seq: number
  readonly at: number
  readonly status: AssistantMsg['status']
  /** Empty where it is withheld. */
  readonly parts: readonly ViewPart[]
  readonly object?: Json
  /** The hook that has not passed it. */
  readonly withheld?: { readonly hook: string }
  /** As of a user's message; of calls, each says it for itself. */
  readonly leftOut?: number
}

/** A part of a message; calls with all that is known of them. */
export type ViewPart = Exclude<AssistantPart, { type: 'call' }> | ViewCall

/** A call within a message, with where it is and how it ended. */
export type ViewCall = {
  readonly type: 'call'
  readonly callId: string
  readonly name: string
  readonly args: Json
  readonly executor: Executor
  readonly phase: 'waiting' | 'running' | 'pending' | 'ended'
  readonly end: CallEnd | null
  readonly edited?: { readonly before: Json; readonly after: Json }
  readonly leftOut?: LeftOut
}

/** Only the beginnings of what is long are shown: about so many bytes are missing. These events of the log have all of it. */
export type LeftOut = { readonly bytes: number; readonly seqs: readonly number[] }

/** A call somebody has to answer. Pass it to `approve`, `deny` or `answer`. */
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
  /** From the conversation somebody talks to, over the calls of child agents, down to this call. */
  readonly path: CallPath
  /** Of `args`, `prompt` and `schema`. */
  readonly leftOut?: LeftOut
}

/** From the conversation somebody talks to, down to a call of a child agent. */
export type CallPath = readonly { readonly conversationId: string; readonly callId: string }[]

/** Where the child agents of a conversation stand. */
export type Children = {
  /** The calls whose child cannot go on, nor anything below it, until somebody answers. */
  readonly waiting: readonly string[]
  readonly pending: readonly PendingItem[]
}

/** What is known of a message that is being written. */
export type Draft = {
  readonly turnId: string
  readonly messageId: string
  /** How many deltas are in it. */
  readonly n: number
  readonly parts: readonly DraftPart[]
}

/** A part of it: what has come so far. */
export type DraftPart = {
  readonly type: 'text' | 'reasoning' | 'tool_input'
  readonly part: string
  readonly text: string
  readonly name?: string
}

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
