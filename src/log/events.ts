import type { Json, JsonObject } from '../base/json.ts'
import type { BlobRef } from './blob-ref.ts'

/** A committed fact of a conversation. `seq` is 1-based and gap-free; the store assigns `seq` and `at`. */
export type LogEvent = NewEvent & {
  readonly conversationId: string
  readonly seq: number
  /** Milliseconds since 1970, by the store's clock. */
  readonly at: number
}

/** An event before the store assigns its `seq`. The union is closed; `knownPart` says what readers see of a log with other types. */
export type NewEvent = {
  readonly [Type in keyof EventContents]: { readonly type: Type; readonly content: EventContents[Type] }
}[keyof EventContents]

/** The closed list of event types. A node that reads any other type releases the conversation. */
export type EventType = keyof EventContents

/** The event of that type. */
export type EventOf<Type extends EventType> = Extract<LogEvent, { type: Type }>

/** The content of each type of event. */
export type EventContents = {
  readonly user_msg: UserMsg
  readonly assistant_msg: AssistantMsg
  readonly tool_call: ToolCallContent
  readonly tool_started: { readonly callId: string; readonly attempt: number }
  readonly tool_asked: ToolAsked
  readonly suspension: Suspension
  readonly resolution: Resolution
  readonly tool_result: ToolResult
  readonly injection: Injection
  readonly regeneration: { readonly messageId: string; readonly n: number; readonly feedback: string }
  readonly withheld: Withheld
  readonly attempt_discarded: AttemptDiscarded
  readonly deadline_moved: DeadlineMoved
  readonly halted_by: HaltedBy
  readonly scope_missing: ScopeMissing
  readonly state_set: StateSet
  readonly state_refused: StateRefused
  readonly cancel_requested: { readonly turnId: string; readonly who: string }
  readonly superseded: Superseded
  readonly turn_ended: TurnEnded
  /** Null removes the title. */
  readonly titled: { readonly title: string | null }
  readonly note: Note
  readonly seeded: { readonly state: Json }
  readonly restored: Restored
  readonly flow_started: FlowStarted
  readonly flow_opened: FlowOpened
  readonly flow_outcome: FlowOutcome
  readonly flow_continued: { readonly version: string; readonly input: Json }
  readonly flow_ended: FlowEnded
}

/** The content of `user_msg`: a message, and the turn that it opens, queues for or steers. */
export type UserMsg = {
  readonly turnId: string
  readonly message: UserMessage
  readonly options: TurnOptions
  readonly who: string
  readonly key?: string
  /** JSON that came with the message, for the application. No prompt has it. */
  readonly data?: Json
  /** The W3C trace context of the sender, for telemetry. A field, because neither fold nor prompt nor view depends on it. */
  readonly traceparent?: string
  /** Set when the message comes from a snapshot: when it was said. Only in a log with `restored`. */
  readonly restoredAt?: number
}

/** A message from a person. */
export type UserMessage = { readonly parts: readonly UserPart[] }

/** A part of a person's message. */
export type UserPart = TextPart | FilePart

/** Text. */
export type TextPart = { readonly type: 'text'; readonly text: string; readonly providerMetadata?: JsonObject }

/** A file in a message. A blob ref names bytes in the store; a string is a URL. */
export type FilePart = {
  readonly type: 'file'
  readonly mediaType: string
  readonly data: BlobRef | string
  readonly filename?: string
}

/** All options of one turn. The agent's defaults are written in at `send`, so that a deploy cannot change a running turn. */
export type TurnOptions = JsonObject & {
  readonly maxSteps?: number
  readonly maxTokens?: number
  readonly maxParallelCalls?: number
  /** Most levels of child agents below the turn. */
  readonly maxDepth?: number
  readonly untilTool?: string
  /** JSON Schema of the object that ends the turn; `false` opts out of the agent's default. */
  readonly output?: JsonObject | false
}

/** The content of `assistant_msg`: a message from the model, complete, cancelled or failed. */
export type AssistantMsg = {
  readonly turnId: string
  readonly messageId: string
  /** The `seq` that its prompt was rendered from. */
  readonly seen: number
  readonly parts: readonly AssistantPart[]
  readonly model: ModelRef
  readonly usage: Usage
  readonly finishReason: string
  readonly status: 'complete' | 'cancelled' | 'failed'
  readonly object?: Json
  /** As in `user_msg`. */
  readonly restoredAt?: number
}

/** Which model wrote a message. */
export type ModelRef = { readonly provider: string; readonly modelId: string }

/** Token counts from the provider. A count that the provider does not report is absent. */
export type Usage = {
  readonly inputTokens?: number
  readonly outputTokens?: number
  readonly cacheReadTokens?: number
  readonly cacheWriteTokens?: number
  readonly reasoningTokens?: number
}

/** A part of a model's message. A call has only its `callId` here; the rest is in its `tool_call` event. */
export type AssistantPart =
  | TextPart
  | FilePart
  | { readonly type: 'reasoning'; readonly text: string; readonly providerMetadata?: JsonObject }
  | { readonly type: 'source'; readonly source: JsonObject }
  | ProviderCallPart
  | ProviderResultPart
  | OwnCallPart
  | PlainCallPart

/** A call that the provider runs. Its result arrives in the same stream. */
export type ProviderCallPart = {
  readonly type: 'provider_call'
  readonly providerCallId: string
  readonly name: string
  readonly args: Json
  readonly providerMetadata?: JsonObject
}

export type ProviderResultPart = {
  readonly type: 'provider_result'
  readonly providerCallId: string
  readonly name: string
  readonly result: Json
  readonly isError?: boolean
  readonly providerMetadata?: JsonObject
}

/** A call that Perdure runs. Everything else about it is in its `tool_call` event. */
export type OwnCallPart = { readonly type: 'call'; readonly callId: string; readonly providerMetadata?: JsonObject }

/** A call in a message that was regenerated, halted, cancelled or failed: shown to people, never run, never rendered. */
export type PlainCallPart = {
  readonly type: 'plain_call'
  readonly providerCallId: string
  readonly name: string
  readonly args: Json
}

/** Who runs a call: this process, a person, the page, the model provider, or another agent. */
export type Executor = 'server' | 'human' | 'client' | 'provider' | 'agent'

/** What to do with a call that was started and has no result: report the unknown outcome to the model, run the call again, or ask a person. */
export type IfInterrupted = 'report' | 'rerun' | 'ask'

/** A call with the decisions that are made once, so that a deploy does not change them while the call waits. */
export type ToolCallContent = {
  readonly turnId: string
  readonly callId: string
  readonly providerCallId: string
  readonly name: string
  readonly args: Json
  readonly executor: Executor
  readonly gated: boolean
  readonly ifInterrupted: IfInterrupted
  readonly timeoutMs: number | null
  readonly expiresInMs: number | null
  /** What people see when the call suspends. */
  readonly prompt?: Json
  /** What the call will do, in one line: see `describe` of tools. A field, because nothing but what is shown depends on it. */
  readonly description?: string
  /** JSON Schema of the answer, for executors that answer. */
  readonly schema?: Json
  /** Set when the call comes from a snapshot: its id in the conversation that the snapshot was taken of. Only in a log with `restored`. */
  readonly restoredFrom?: string
}

/**
 * The content of `tool_asked`: the server tool of this call asks in that round. It comes right before the suspension, in the same commit, so every prefix of a
 * log that has the suspension also has its mark: the answer does not end the call, but runs the tool again, with the answer and with `state`.
 */
export type ToolAsked = { readonly callId: string; readonly round: number; readonly state: Json }

/** What a suspended call waits for: a yes or no, an answer, the page, a child agent, or a decision about an interrupted call. */
export type SuspensionKind = 'approval' | 'elicitation' | 'client_exec' | 'sub_agent' | 'recovery'

/** The content of `suspension`: a call waits for an answer. `expiresInMs` null: it waits forever. */
export type Suspension = {
  readonly callId: string
  readonly round: number
  readonly kind: SuspensionKind
  readonly prompt: Json
  readonly schema: Json
  readonly expiresInMs: number | null
  /** Set when a variant that the turn replaces ran the same. A field, because nothing but what is shown depends on it. */
  readonly doneBefore?: DoneBefore
}

/** A call of an earlier variant that did the same. `unknown`: it was started, and may have taken effect. */
export type DoneBefore = { readonly callId: string; readonly outcome: 'done' | 'failed' | 'unknown' }

/** How a round ended. */
export type ResolutionStatus = 'resolved' | 'denied' | 'expired' | 'cancelled'

/** The content of `resolution`: the one answer to a round of a call. */
export type Resolution = {
  readonly callId: string
  readonly round: number
  readonly kind: SuspensionKind
  readonly status: ResolutionStatus
  readonly value: Json
  readonly who: string
  /** Arguments a person changed while approving. */
  readonly edited?: { readonly before: Json; readonly after: Json }
}

/**
 * The content of `deadline_moved`: the round of a call that waits has another deadline, which is `expiresInMs` after this event; null: it waits forever.
 * Never about a round of kind `sub_agent`.
 */
export type DeadlineMoved = {
  readonly callId: string
  readonly round: number
  readonly expiresInMs: number | null
  readonly who: string
}

/** `unknown`: the call was interrupted and may have run. `ran`: it ran, but its result could not be recorded. */
export type InterruptedEnd = 'unknown' | 'ran'

/**
 * The content of `tool_result`: how a call ended that ran, or that could not run. `userFacing`: the error is meant for people. It is a field rather than an
 * event type because it changes neither the fold nor what the model reads; a reader that does not know it shows less.
 */
export type ToolResult = {
  readonly callId: string
  readonly outcome?: InterruptedEnd
  readonly userFacing?: true
} & CallResult

/** The result of a call, or its error. */
export type CallResult = { readonly ok: true; readonly result: Json } | { readonly ok: false; readonly error: string }

/** The content of `injection`: what a durable hook added, even when it added nothing. */
export type Injection = {
  readonly turnId: string
  readonly step: number
  readonly hook: string
  readonly parts: readonly UserPart[]
}

/**
 * The content of `withheld`: the agent's post-hooks did not pass the message after it. The mark comes first, in the same commit, so every prefix of a log that
 * has the message also has its mark. `hook` names the hook that did not pass it, or the agent's first hook where none was asked.
 */
export type Withheld = { readonly messageId: string; readonly hook: string }

/**
 * The content of `attempt_discarded`: an attempt at a message broke off, and another one followed. Nothing of its text is in the log. It comes right before what
 * came of the message, in the same commit. `messageId` is that of the attempt, which watchers saw withdrawn; `code` is that of the error.
 */
export type AttemptDiscarded = {
  readonly turnId: string
  readonly messageId: string
  readonly model: ModelRef
  /** As far as the provider told it. Counts as usage of the turn. */
  readonly usage: Usage
  readonly code: string
}

/**
 * The content of `halted_by`: the tool that ran for this call ends the turn as `halted`, once the calls beside it have ended. It comes right before the result
 * of the call, in the same commit, so every prefix of a log that has the result also has its halt. The first one of a turn gives the reason.
 */
export type HaltedBy = { readonly callId: string; readonly reason: string }

/**
 * The content of `scope_missing`: the turn waits, because the scope of `who`, who opened it, could not be restored. Written once; it no longer holds when the
 * turn has gone on or ended. `reason` is for operators.
 */
export type ScopeMissing = { readonly turnId: string; readonly who: string; readonly reason: string }

/**
 * The content of `state_set`: a change of the application's state. With `callId` it belongs to the result of that call: it comes before the result, in the same
 * commit, and takes effect with it, if the call ends well. `exposed`: the keys that views show from here on.
 */
export type StateSet = {
  readonly callId?: string
  readonly patch: StatePatch
  readonly exposed: readonly string[]
  readonly who: string
}

/** A change by top-level keys. */
export type StatePatch = { readonly set: JsonObject; readonly remove: readonly string[] }

/** The content of `state_refused`: the call ended, but the state it set was refused. The model reads why, next to the result. Comes before the result. */
export type StateRefused = { readonly callId: string; readonly reason: string }

/**
 * The content of `restored`: the events after it, up to the one at `through`, come from a snapshot and happened in another log. It follows `seeded`, in the
 * same commit. `version` and `seq` are those of the snapshot.
 */
export type Restored = { readonly version: number; readonly seq: number; readonly through: number }

/**
 * The content of `superseded`: the turns that began at `fromSeq` or later are withdrawn, and turn `by` is there in their place. It comes right before the first
 * message of that turn, in the same commit. `fromSeq` of a second variant is that of the first, so it names a place of the conversation. What tools did, the
 * application's state, usage and notes stay.
 */
export type Superseded = { readonly fromSeq: number; readonly by: string }

/** How a turn ended. */
export type TurnStatus = 'completed' | 'cancelled' | 'failed' | 'halted'

/** The content of `turn_ended`. */
export type TurnEnded = { readonly turnId: string; readonly status: TurnStatus; readonly reason: string | null }

/** The content of `note`: something that the application keeps in the log. Shown, never in a prompt. At most 64 KiB encoded. */
export type Note = { readonly name: string; readonly data: Json; readonly who: string }

/** The content of `flow_started`: which flow, and its input. */
export type FlowStarted = {
  readonly flow: string
  readonly version: string
  readonly input: Json
  readonly who: string
  /** As in `user_msg`: of the process that started it. */
  readonly traceparent?: string
}

/** An operation that a flow asked for. Positions count a session's operations from 1, in the order the code asked for them. */
export type FlowOp =
  | { readonly kind: 'suspend'; readonly tag: Json; readonly schema?: Json }
  | { readonly kind: 'request'; readonly request: string; readonly payload: Json }
  | { readonly kind: 'step'; readonly name: string; readonly input: Json; readonly ifInterrupted: 'rerun' | 'report' }
  | { readonly kind: 'sleep'; readonly ms: number }
  /** `id`: null for a conversation of the flow's own. */
  | {
      readonly kind: 'agent'
      readonly agent: string
      readonly id: string | null
      readonly message: string
      readonly data?: Json
    }
  | { readonly kind: 'now' | 'random' | 'uuid' }

/** An operation that the code has asked for. In one commit, all of these come before the outcomes, so `asked` holds once everything before it is replayed. */
export type FlowOpened = {
  readonly position: number
  readonly op: FlowOp
  /** How many operations the code had asked for when this was written. */
  readonly asked: number
  /** For a step or a message to an agent: the same in every attempt, and in a fork that finds the operation running. */
  readonly id?: string
}

/** The outcome of an operation. Replay returns outcomes in the order of the log. */
export type FlowOutcome = { readonly position: number; readonly who?: string } & (
  | { readonly ok: true; readonly value: Json }
  | FlowFailure
)

/** `code`: the code of a Perdure error, so that a replay throws an error with the same code. */
export type FlowFailure = {
  readonly ok: false
  readonly error: string
  readonly code?: string
  readonly outcome?: InterruptedEnd
  /** As in `tool_result`. */
  readonly userFacing?: true
}

/** The content of `flow_ended`: the result of a session, or why it failed. */
export type FlowEnded =
  | { readonly status: 'done'; readonly result: Json }
  | { readonly status: 'failed'; readonly error: string; readonly userFacing?: true }
