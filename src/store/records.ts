import type { Json, JsonObject } from '../base/json.ts'
import type { DoneBefore, Executor, SuspensionKind } from '../log/events.ts'
import type { ConversationStatus, FsmState } from '../log/fsm-state.ts'
import type { ConversationState } from '../log/state.ts'
import type { PageBounds } from './store.ts'

/** A conversation of any tenant. */
export type ConversationRef = { readonly tenant: string; readonly id: string }

/** A conversation's columns, readable without its log. */
export type ConversationRecord = {
  readonly id: string
  readonly kind: ConversationKind
  /** The name of the agent or flow whose code works on it; null until it is set. */
  readonly agent: string | null
  /**
   * Who opened it: the `who` of its first message or of the start of its session. Of a fork, who forked it; of a child agent, the owner of its parent. Null where
   * that is not known. Never changes once it is set.
   */
  readonly owner: string | null
  readonly status: ConversationStatus
  readonly settings: JsonObject
  readonly fsmState: FsmState | null
  readonly title: string | null
  readonly parent: Parent | null
  readonly lastSeq: number
  readonly createdAt: number
  readonly updatedAt: number
  /** Only while it is quarantined: no process works on it, because the last five that did died. A commit must name `epoch` to write as its owner. */
  readonly quarantine?: { readonly at: number; readonly epoch: number }
  /** Only in lists: how many calls of its own, or questions of the session, wait for an answer. Those of child agents are in their rows. */
  readonly waiting?: number
  /** Only in lists: the columns that are damaged in the store and shown as empty. Absent when all could be read. `perdure doctor` says what to do. */
  readonly unreadable?: readonly UnreadableColumn[]
}

/** The columns stored as JSON, which may be damaged. */
export type UnreadableColumn = 'settings' | 'fsmState' | 'title' | 'parent'

export const conversationStatuses = [
  ...(['active', 'suspended', 'sleeping', 'idle', 'ended', 'failed'] as const satisfies readonly ConversationStatus[]),
]

/** Whether a log is of a conversation or of a flow session. */
export type ConversationKind = 'conversation' | 'flow'

/** The origin of a conversation: `at` is set for a fork, `callId` for a child agent. */
export type Parent = { readonly id: string; readonly at?: number; readonly callId?: string }

/** What `putConversation` takes. Only members that are present are written; `settings` merge shallowly. */
export type ConversationAttrs = {
  readonly kind?: ConversationKind
  readonly agent?: string
  /** Written only where the conversation has none. Default: the `who` of the first message or start. */
  readonly owner?: string
  readonly status?: ConversationStatus
  readonly settings?: JsonObject
  readonly fsmState?: FsmState
  readonly title?: string | null
  readonly parent?: Parent
}

/** `before` is the id of the last conversation of the previous page. */
export type ConversationFilter = PageBounds & {
  /** Only conversations, or only sessions of flows. */
  readonly kind?: ConversationKind
  readonly status?: ConversationStatus
  readonly agent?: string
  /** Only those that this user opened. `before` cannot name a conversation of another owner. */
  readonly owner?: string
  /** Only the direct forks of this conversation. */
  readonly forkOf?: string
  /** Only those with this text in their title or id; ASCII letters match in either case. At most 200 characters. Reads rows until the page is full. */
  readonly text?: string
  /** Only these, at most 1,000. */
  readonly ids?: readonly string[]
  readonly before?: string
}

let last = { tenant: '', id: '', key: '["",""]' }

/** One string for a conversation of a tenant, for use as a key in maps. */
export function conversationKey(tenant: string, id: string): string {
  // It is usually asked for several times in a row.
  if (last.tenant !== tenant || last.id !== id) last = { tenant, id, key: JSON.stringify([tenant, id]) }
  return last.key
}

/** What a call row waits for; `flow`: it is a question of a session, whose `round` is the `seq` of the question. */
export type CallKind = SuspensionKind | 'flow'

export const callKinds = ['approval', 'elicitation', 'client_exec', 'sub_agent', 'recovery', 'flow'] as const

/** The row of a suspended call: a cache over the log that makes inboxes and deadlines one query. Describes the latest round. */
export type ToolCall = {
  readonly id: string
  readonly conversationId: string
  readonly name: string
  readonly executor: Executor
  readonly status: 'pending' | FinalStatus
  readonly args: Json
  readonly result: Json
  readonly round: number
  readonly kind: CallKind
  readonly prompt: Json
  readonly expiresAt: number | null
  readonly createdAt: number
  readonly resolvedAt: number | null
  /** What the log tells people about the call beside its prompt; null where it tells nothing more. */
  readonly notice: CallNotice | null
  /** What the application attached; null where it attached nothing. */
  readonly meta: JsonObject | null
}

/** `description`: what the call will do, in one line, by `describe` of its tool. `doneBefore`: the same was done in an earlier variant of the turn. */
export type CallNotice = { readonly description?: string; readonly doneBefore?: DoneBefore }

/** How a call row ends. */
export type FinalStatus = 'resolved' | 'errored' | 'denied' | 'expired' | 'cancelled'

/** The members of an upsert; any other is refused. Defaults: status pending, round 1, kind approval, executor server, everything else null or empty. */
export type ToolCallWrite = {
  readonly id: string
  /** Must be the conversation that the row is written to. */
  readonly conversationId?: string
  readonly name?: string
  readonly executor?: Executor
  readonly status?: ToolCall['status']
  readonly args?: Json
  readonly result?: Json
  readonly round?: number
  readonly kind?: CallKind
  readonly prompt?: Json
  readonly expiresInMs?: number | null
  readonly notice?: CallNotice | null
  /** An object of the application's own, of at most 64 KiB. If absent, the row keeps its value: the engine never writes it. Null removes it. */
  readonly meta?: JsonObject | null
}

/** A row of the inbox, with the agent it belongs to. */
export type PendingCall = ToolCall & {
  readonly agent: string | null
  readonly title: string | null
  /** Whose conversation it is, and so whom the call is for. */
  readonly owner: string | null
  /** Only while its conversation is quarantined: an answer is accepted, but the turn does not continue until a person releases it. */
  readonly quarantinedAt?: number
}

/** An audit row: the exact input of one model call, and its result. */
export type ModelCall = {
  readonly turnRef: string
  readonly renderedContext: Json
  readonly model: Json
  readonly usage: Json
  readonly latencyMs: number | null
  readonly status: string
  readonly summaryVersion: number | null
  readonly evictions: Json
  readonly at: number
  /** What the application attached, at most 64 KiB; null where it attached nothing. */
  readonly meta: JsonObject | null
}

/** Missing fields are null (`status`: 'ok'); `at` is now by the store's clock. Any other field is refused. */
export type NewModelCall = Partial<ModelCall> & Pick<ModelCall, 'turnRef'>

/** Selects audit rows. Default: all. */
export type ModelCallRange = PageBounds & {
  /** Only the rows of this call. */
  readonly turnRef?: string
  /** Only the rows of this call and of later calls. */
  readonly from?: string
  /** How many rows to skip at the start. With `from`, a page continues where the previous one ended. */
  readonly skip?: number
  /** False: `renderedContext`, which may be long, is not read and is null. Default: true. */
  readonly contexts?: boolean
}

/** A derived text that replaces a span of the log. `toSeq` ends a turn. */
export type Summary = {
  readonly fromSeq: number
  readonly toSeq: number
  readonly content: Json
  readonly version: number
  /** Title, last `seq` and unfinished turns at `toSeq`, so that revival reads nothing before it. */
  readonly base: ConversationState | null
}

/**
 * A summary to put. `plannedOn`: the last `seq` of the log that it was planned on; default: `toSeq`. It is refused when turns were withdrawn since
 * (`SummarySupersededError`), because it may tell of them.
 */
export type NewSummary = Summary & { readonly plannedOn?: number }

type Span = Pick<Summary, 'fromSeq' | 'toSeq'>

/** Whether both summaries may exist: they are the same one, lie apart, or the new one covers the known one and ends after it. For drivers. */
export function fitsBeside(known: Span, added: Span): boolean {
  if (known.toSeq === added.toSeq || known.toSeq < added.fromSeq || known.fromSeq > added.toSeq) return true
  return added.fromSeq <= known.fromSeq && known.toSeq < added.toSeq
}

/** The state to continue from after a summary; null when its base is not a state at `toSeq`, and the whole log must be read. */
export function usableBase({ base, toSeq }: Pick<Summary, 'base' | 'toSeq'>): ConversationState | null {
  return base?.lastSeq === toSeq && Array.isArray(base.turns) ? base : null
}

/** How many conversations of a kind have a status. */
export type StatusCount = {
  readonly kind: ConversationKind
  readonly status: ConversationStatus
  readonly count: number
}

/** What a tenant has, counted. */
export type Tally = {
  readonly counts: readonly StatusCount[]
  /** Pending calls, without those that a child agent works on. */
  readonly waiting: number
  /** When the oldest of them was asked; null when there are none. */
  readonly oldestAt: number | null
  /** Only the newest were counted, and there are more. */
  readonly isPartial: boolean
}

/** The most conversations, and the most calls, that a tally counts. */
export const mostTallied = 20_000
