import type { Agent, AgentOutput, AgentStateOf, AgentTools } from '../define/agent.ts'
import type { Schema, SchemaOutput } from '../define/schema.ts'
import type { Tool, ToolInput } from '../define/tool.ts'
import type { StateUpdate } from '../define/turn.ts'
import type { TurnOutcome } from '../engine/live/turn-outcome.ts'
import type { MessageInput, RetryOptions, SendOptions } from '../engine/turn-options.ts'
import type { LogEvent } from '../log/events.ts'
import type { Explanation } from '../prompt/explain.ts'
import type { ModelCall, ModelCallRange } from '../store/records.ts'
import type { EventRange, Page } from '../store/store.ts'
import type { WatchEvent } from '../view/growing-view.ts'
import type { PendingItem, View } from '../view/view.ts'
import type { Answered, AnswerOptions, CallRef } from './answer-call.ts'
import type { SetStateOptions } from './conversation-state.ts'
import type { DeadlineOptions, Extended } from './extend-deadline.ts'
import type { HistoryOptions, HistoryPage } from './read/history.ts'
import type { LineageOptions, ListedConversation } from './read/lists.ts'
import type { ViewOptions } from './read/read-view.ts'
import type { WatchOptions } from './read/watch.ts'

/** A handle on one conversation, for one identity. Holds nothing and does no I/O until a verb is called. */
export type Conversation<A extends Agent = Agent> = {
  readonly id: string
  /** Durable when it resolves. The same key is the same turn. */
  send<Out extends Schema | false | undefined = undefined>(
    message: MessageInput,
    options?: SendOptions<Out>,
  ): Promise<TurnHandle<A, OutputOf<A, Out>>>
  /**
   * Sends the messages of a turn again, in its place: `send` of the same messages and options with `replaces`, for the caller. Default: the newest turn. Refused with
   * `ForceNeededError` where a tool was started that does not say `ifInterrupted: 'rerun'`, unless `force` is true.
   */
  retry(turnId?: string, options?: RetryOptions): Promise<TurnHandle<A, AgentOutput<A>>>
  /** Of the newest turn: see `TurnHandle.outcome`. */
  outcome(): Promise<TurnOutcome<PendingOf<A>, AgentOutput<A>>>
  turn(turnId: string): TurnHandle<A, AgentOutput<A>>
  /** Ends the open turn (or the one named); resolves when its end is durable. Null when there was none to end. The signal ends the waiting alone. */
  cancel(options?: {
    readonly turnId?: string
    readonly signal?: AbortSignal
  }): Promise<TurnOutcome<PendingOf<A>, AgentOutput<A>> | null>

  /** `args` run instead of the model's; both are recorded. */
  approve<Call extends CallRef>(
    call: Call,
    options?: { readonly args?: EditedArgs<Call> } & AnswerOptions,
  ): Promise<Answered>
  deny(call: CallRef, options?: { readonly reason?: string } & AnswerOptions): Promise<Answered>
  /** For questions, client tools and interrupted calls. */
  answer(call: CallRef, value: unknown, options?: AnswerOptions): Promise<Answered>

  /**
   * Moves the deadline of a call that waits, here or in a child agent, to `expiresInMs` from now, or takes it away (null). Not accepted when the call has been
   * answered or has expired: `resolution` says how. Does not wake the conversation.
   */
  extendDeadline(call: CallRef, options: DeadlineOptions): Promise<Extended>
  /**
   * Appends a `note`: a fact of the application's own, in history, view and live stream, never in a prompt. At most 64 KiB. The conversation must exist; a note
   * neither wakes it nor waits for a turn.
   */
  note(name: string, data: unknown): Promise<{ readonly seq: number }>

  /**
   * The state of the conversation, as the agent's schema returns it. Throws `StateInvalidError` where it does not match the schema, and
   * `ConversationNotFoundError` where there is no conversation.
   */
  state(): Promise<AgentStateOf<A>>
  /**
   * Changes the state, and resolves with the state after it, when it is durable. An object sets its top-level keys, `undefined` removes one. A function gets the newest
   * state and returns such an object; it must be pure and synchronous, because it runs again if the log has grown before the commit. Wakes nothing. Throws
   * `StateRefusedError` when the result does not match the schema or has more than 64 KiB; then nothing is written.
   */
  setState(update: StateUpdate<AgentStateOf<A>>, options?: SetStateOptions): Promise<AgentStateOf<A>>

  /** The newest messages, as many as fit; `before` of the view says where those before them are. */
  view(options?: ViewOptions): Promise<View>
  /** Pages of whole turns, the newest first; a turn that does not fit into a page continues in the next. */
  history(page?: HistoryOptions): Promise<HistoryPage>
  /**
   * A page of the log as it is, with messages that hooks have withheld: for operators. Pages get `watch`, `view` or `history`. Onwards from `after` where it is
   * given, else the newest (see `keep`). Default of `maxBytes`: 4 MiB. There are no gaps in a log, so a page that does not begin or end where the range does was
   * cut: ask again from there.
   */
  events(range?: EventRange): Promise<LogEvent[]>
  watch(options?: WatchOptions): AsyncGenerator<WatchEvent, void, void>
  /** The audit: a row for each attempt of each model call, as far as the agent's `audit` has them kept. */
  modelCalls(range?: ModelCallRange): Promise<ModelCall[]>
  /** How each event of the log was in the prompt of that model call, and why: the answer to "why did it forget that?". Reads the whole log. */
  explain(modelCall: Pick<ModelCall, 'evictions'>): Promise<Explanation[]>

  /**
   * A copy up to `at` (inclusive; default: all), which does nothing until it gets a message, an answer or a `continue`. With `agent`, one of the runtime's
   * agents, it continues with that agent's model, instructions, tools and hooks: see `deriveAgent`.
   */
  fork<B extends Agent = A>(options?: ForkOptions<B>): Promise<Conversation<B>>
  /** Its direct forks, the newest first. */
  forks(page?: Page): Promise<ListedConversation[]>
  /** Where it was forked from, then where that was, and so on to the first. */
  lineage(options?: LineageOptions): Promise<{ readonly id: string; readonly at: number }[]>
  /** Continues with the work that the log leaves open; for forks. */
  continue(): Promise<void>
  /** Releases the conversation from this process; the log and everything that waits stay. */
  detach(): Promise<void>
  /** Gives it a title of 1 to 1,000 characters, or none (null). Agents that generate titles leave it alone from then on. The same title again writes nothing. */
  rename(title: string | null): Promise<void>
  /** With everything that belongs to it. False when there was none. */
  delete(): Promise<boolean>
}

/** Where to cut, and whose the copy is. */
export type ForkOptions<B extends Agent = Agent> = {
  readonly at?: number
  /** Default: a new one. */
  readonly id?: string
  readonly agent?: B | (string & {})
}

/** A handle on one turn. */
export type TurnHandle<A extends Agent = Agent, Output = AgentOutput<A>> = {
  readonly turnId: string
  /** Resolves when the turn waits for an answer or has ended. Never rejects. */
  outcome(): Promise<TurnOutcome<PendingOf<A>, Output>>
  /** The text of the turn's messages as it is written; ends with the turn, or when it waits. */
  readonly textStream: AsyncIterable<string>
}

/** The pending items of this agent, discriminated by `tool`. */
export type PendingOf<A extends Agent> =
  AgentTools<A> extends infer T ? (T extends Tool ? PendingOfTool<T> : never) : never

type PendingOfTool<T extends Tool> = string extends T['name']
  ? PendingItem
  : T['executor'] extends 'provider'
    ? never
    :
        | (Omit<PendingItem, 'tool' | 'args'> & { readonly tool: T['name']; readonly args: ToolInput<T> })
        | (T extends { readonly executor: 'agent'; readonly agent: infer Child } ? PendingOfChild<Child> : never)

/** What a child agent waits for is of its own tools, where the tool says which agent it is. */
type PendingOfChild<Child> = Child extends Agent ? PendingOf<Child> : PendingItem

/** The arguments that may replace the model's: those that the tool of the pending item accepts. Any, if the tool is not known. */
type EditedArgs<Call> = Call extends { readonly tool: infer Name extends string; readonly args: infer Args }
  ? string extends Name
    ? unknown
    : Args
  : unknown

/** The type of `outcome.object`: that of the `output` sent with the message, else of the agent's. */
export type OutputOf<A extends Agent, Out> = Out extends Schema
  ? SchemaOutput<Out>
  : Out extends false
    ? undefined
    : AgentOutput<A>
