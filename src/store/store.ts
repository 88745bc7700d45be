import type { Json } from '../base/json.ts'
import type { BlobRef } from '../log/blob-ref.ts'
import type { LogEvent, NewEvent } from '../log/events.ts'
import type { ConversationStatus, FsmState } from '../log/fsm-state.ts'
import type { Accounts } from './accounts.ts'
import type { Change, CommitResult } from './change.ts'
import type { ClaimedDue, DueClaim } from './claim-due.ts'
import type { Jobs } from './jobs.ts'
import type { ClaimOptions, ClaimOutcome, KnownLease, LeaseNews } from './lease.ts'
import type { LiveBus } from './live-bus.ts'
import type { Nodes } from './nodes.ts'
import type { Outbox } from './outbox.ts'
import type {
  ConversationAttrs,
  ConversationFilter,
  ConversationRecord,
  ConversationRef,
  FinalStatus,
  ModelCall,
  ModelCallRange,
  NewModelCall,
  NewSummary,
  PendingCall,
  Summary,
  Tally,
  ToolCall,
  ToolCallWrite,
} from './records.ts'
import type { DueLimits } from './slots.ts'
import type { Steering } from './steering.ts'
import type { Upkeep } from './upkeep.ts'

/** A place for logs: one root per process, one handle per tenant. Everything a backend must do is in this file. */
export type Store = TenantStore & {
  /** Whether data outlives the process. */
  readonly durable: boolean
  /** The same data for one tenant; the root's own methods act on tenant 'default'. Does no I/O. */
  forTenant(tenant: string): TenantStore
  /**
   * Conversations of any tenant whose wake-up is due and that have no holder: one of each tenant, then the second of each, and so on; of a tenant those that are
   * due longest. If there are more tenants than `limit`, the next search continues with the others.
   */
  dueWork(query: DueWorkQuery): Promise<ConversationRef[]>
  /**
   * Takes the leases of due conversations, the longest due first. The result may be incomplete: conversations that others are taking are skipped. Where it rejects, leases may have
   * been taken: they are strays, see `keepLeases`.
   */
  claimDue(claim: DueClaim): Promise<ClaimedDue[]>
  /** Extends every lease that this holder took through this store; returns those it no longer has. */
  renewLeases(holder: string, ttlMs: number): Promise<ConversationRef[]>
  /**
   * Extends the leases that the holder names, lapsed or not, and returns how they differ from what it knows. A lease under its name that it does not name is
   * not extended: its acknowledgement was lost, and the holder must release it or let it lapse.
   */
  keepLeases(holder: string, ttlMs: number, known: readonly KnownLease[]): Promise<LeaseNews>
  /**
   * Hints that a log has grown, here or in another process. Hints may be late, duplicated or lost: the log is the truth. `onMissed`: hints of other processes may
   * have been lost until now.
   */
  onWake(listener: (hint: WakeHint) => void, onMissed?: () => void): Unsubscribe
  /** Lets other processes know of a worker, so that their hints can name it as the taker, until the returned function is called. Absent when the backend does not offer it. */
  announce?(worker: WorkerHere): Unsubscribe
  /** The logs that differ from what the watcher knows, in case a hint was lost. One statement for each 2,000. */
  movedLogs(watched: readonly WatchedLog[]): Promise<ConversationRef[]>
  /** Removes everything of a tenant; returns how many conversations it had. */
  deleteTenant(tenant: string): Promise<number>
  /** For export, examination and cleanup of the whole store: see `perdure/upkeep`. Absent when the backend does not offer it. */
  readonly upkeep?: Upkeep
  /** Bulk jobs. Absent when the backend does not offer it. */
  readonly jobs?: Jobs
  /** The deliveries to subscribers. Absent when the backend does not offer an outbox. */
  readonly outbox?: Outbox
  /** What nodes share to keep limits. Absent when the backend does not offer it. */
  readonly accounts?: Accounts
  /** What is live, for the other processes of a fleet. Absent when the backend does not offer it. */
  readonly liveBus?: LiveBus
  /** Which processes there are. Absent when the backend does not offer it. */
  readonly nodes?: Nodes
  /** Pauses. Absent when the backend does not offer it. */
  readonly steering?: Steering
  /** Must finish running operations. Later calls are refused with `StoreClosedError`; a second close does nothing. */
  close(): Promise<void>
}

/** The agents that the calling process has code for, and how many conversations it takes. */
export type DueWorkQuery = {
  readonly agents: readonly string[]
  readonly limit: number
  /** The most conversations whose last leases lapsed: see `claimLease`. Default: no limit. */
  readonly suspects?: number
  /**
   * How long the caller's leases last. Where the store's clock was put back, no lease lasts longer than three times that. Default: leases are left as they are.
   */
  readonly leaseMs?: number
  /** Conversations for which no slot is free are left out. Default: no limits. */
  readonly limits?: DueLimits
}

/** A log has grown up to `seq`, or may have. */
export type WakeHint = ConversationRef & {
  readonly seq: number
  /**
   * The holder that should take the conversation, where one was chosen; null: there is nothing to take. Others should look for it a little later: the choice may
   * be wrong. Default: anyone should look.
   */
  readonly taker?: string | null
}

/** A process that takes due conversations of these agents. */
export type WorkerHere = { readonly holder: string; readonly agents: () => readonly string[] }

/** Ends a subscription. Calling it again does nothing. */
export type Unsubscribe = () => void

/** Whose name the event carries. Default of `who`: 'system'. */
export type WhoOptions = { readonly who?: string }

/** A store as one tenant sees it. Another tenant's data looks the same as missing data. */
export type TenantStore = {
  /** Appends one event and creates the conversation if it does not exist. Returns the assigned `seq`. */
  appendEvent(id: string, event: NewEvent): Promise<number>
  streamEvents(id: string, range?: EventRange): Promise<LogEvent[]>
  /** The same for long ranges: events are decoded as they are reached, and the page says whether there are more. */
  pageEvents(id: string, range: EventRange): Promise<EventPage>
  /** What revival reads: the latest summary, and the events after it. */
  loadSince(id: string): Promise<{ summary: Summary | null; events: LogEvent[] }>
  /** The same, with the oldest of those events as a page. Read on with `pageEvents`. */
  pageSince(id: string, bounds: PageBounds): Promise<{ summary: Summary | null; page: EventPage }>

  /**
   * Keyed by `toSeq`; the same `toSeq` replaces. Refused past the end of the log, and where it overlaps another summary without covering it
   * (`SummaryOverlapError`). A commit that withdraws turns deletes those with `toSeq` at or after its `fromSeq`, and one that was planned before that is refused
   * (`SummarySupersededError`).
   */
  putSummary(id: string, summary: NewSummary): Promise<void>
  latestSummary(id: string): Promise<Summary | null>

  /**
   * Upserts; `settings` merge shallowly, everything else replaces. A new `title` (at most 1,000 characters; null removes it) is written as a `titled` event in the
   * same commit, also where that creates the conversation; the title it has already is not written again. A `status` that contradicts the log is refused.
   */
  putConversation(id: string, attrs: ConversationAttrs): Promise<void>
  getConversation(id: string): Promise<ConversationRecord | null>
  /** Sets what lists show until the next commit. No decision depends on it. */
  putFsmState(id: string, fsmState: FsmState): Promise<void>
  /** What a message is planned on. Null when the conversation does not exist. */
  standing(id: string): Promise<Standing | null>

  /** Inserts or replaces a row; a new call is pending unless stated otherwise. */
  upsertToolCall(id: string, call: ToolCallWrite): Promise<void>
  getToolCall(callId: string): Promise<ToolCall | null>
  /** Oldest first. */
  pendingToolCalls(id: string): Promise<ToolCall[]>
  /** The same calls by name only: their arguments may be large. */
  pendingCallNames(id: string): Promise<Pick<ToolCall, 'id' | 'round' | 'kind'>[]>
  /**
   * Ends a pending call and appends its `resolution` in one transaction. Among all callers in all processes, exactly one gets 'ok'. `resolved` answers the
   * call: an approval is granted unless the result is `false`. `errored` ends the call with an error that the model reads, and never runs it: an approval is
   * denied with the result as its reason, every other kind gets an error result. The row keeps status and result as given. Default of `who`: 'system'.
   */
  resolveToolCall(callId: string, status: FinalStatus, result: Json, options?: WhoOptions): Promise<'ok' | 'stale'>
  /**
   * Moves the deadline to `timeoutMs` from now by the store's clock: a `deadline_moved` and the row in one transaction. Does nothing when the call is unknown
   * or no longer waits, so against an answer or an expiry at the same moment one of the two happens. Refused for a call that waits for a child agent. Does not
   * wake the conversation.
   */
  scheduleExpiry(id: string, callId: string, timeoutMs: number, options?: WhoOptions): Promise<void>
  /** Takes the deadline away, in the same way. Does nothing when there is none. */
  cancelExpiry(id: string, callId: string, options?: WhoOptions): Promise<void>

  putModelCall(id: string, call: NewModelCall): Promise<void>
  /** Ordered by `turnRef`, then by insertion. */
  modelCalls(id: string, range?: ModelCallRange): Promise<ModelCall[]>
  /** Removes rows older than `ttlMs`; returns how many. */
  gcModelCalls(id: string, ttlMs: number): Promise<number>

  /** The atomic primitive behind everything: writes the whole change, or nothing. */
  commit(id: string, change: Change): Promise<CommitResult>
  /** Newest first. */
  listConversations(filter?: ConversationFilter): Promise<ConversationRecord[]>
  /**
   * The ids of conversations that changed or were deleted since `since` by the store's clock, with some that did not. Null when there are more than `limit` or the
   * store cannot tell.
   */
  changedSince(since: number, limit: number): Promise<string[] | null>
  /** How many conversations there are by kind and status, and how many calls wait. `owner`: only those that this user opened. Null when the store cannot tell. */
  tally(filter?: { readonly owner?: string }): Promise<Tally | null>
  /** Deletes the conversation with its events, calls, summaries, keys, audit, snapshot and child agents; never its forks. False when there was none. */
  deleteConversation(id: string): Promise<boolean>
  /** All calls of this tenant that wait for an answer, newest first. `before` is the id of the last call of the previous page. */
  pendingInbox(page?: InboxFilter): Promise<PendingCall[]>
  /**
   * Copies the log up to `at` (inclusive; default: the whole log) to a new conversation, which stays dormant until it gets a message or an answer. `agent`: its
   * agent from then on. `owner`: who forks it; default: the owner of the source.
   */
  fork(
    id: string,
    newId: string,
    options?: { readonly at?: number; readonly agent?: string; readonly owner?: string },
  ): Promise<void>

  /** Null when another holder has it, it is quarantined, or it does not exist. Each acquisition has a greater epoch. */
  acquireLease(id: string, holder: string, ttlMs: number): Promise<{ epoch: number } | null>
  /**
   * Like `acquireLease`, but says what it found. A lease that lapsed within five minutes of its claim, without a release, is remembered until the conversation
   * is released or one of its turns ends. The fifth in a row quarantines the conversation.
   */
  claimLease(id: string, holder: string, ttlMs: number, options?: ClaimOptions): Promise<ClaimOutcome>
  /** Does nothing when the epoch is not the current one. */
  releaseLease(id: string, epoch: number): Promise<void>
  /** A holder that lost this lease reports that it is alive: the conversation did not cause the lapse. */
  takeBackLapse(id: string, epoch: number): Promise<void>
  /** Ends the quarantine, so that processes work on it again. False when it was not quarantined. */
  unquarantine(id: string): Promise<boolean>

  putBlob(bytes: Uint8Array, mediaType: string): Promise<BlobRef>
  /** With `slice`, only those bytes: fewer at the end of the blob, none past it. */
  getBlob(ref: BlobRef, slice?: BlobSlice): Promise<{ bytes: Uint8Array; mediaType: string } | null>

  putSnapshot(id: string, snapshot: Json): Promise<void>
  getSnapshot(id: string): Promise<Json>
}

/** How much of a list is read at once: whole rows, and at least one where there is one. Default: no bound. */
export type PageBounds = {
  readonly limit?: number
  /** Counts the bytes that each row stores as JSON. */
  readonly maxBytes?: number
}

/** `after` and `before` are exclusive. The order is always ascending. */
export type EventRange = PageBounds & {
  readonly after?: number
  readonly before?: number
  /** Which end of the range `limit` and `maxBytes` keep. Default: newest. */
  readonly keep?: 'newest' | 'oldest'
}

/** A part of a log. */
export type EventPage = {
  /** In ascending order. Each event is decoded when it is reached, so that a page costs its text and one event. */
  readonly events: Iterable<LogEvent>
  /** Null when the page is empty. */
  readonly first: EventPlace | null
  readonly last: EventPlace | null
  /** False: the range has no more events. True: it may have. */
  readonly hasMore: boolean
}

/** A range of a blob's bytes: `length` bytes from position `from`, counted from 0. */
export type BlobSlice = { readonly from: number; readonly length: number }

/** The position and time of an event. Two logs that had the same name never have the same time at one position. */
export type EventPlace = { readonly seq: number; readonly at: number }

/**
 * The agent and the owner of a conversation, the end of its log, and whether no turn was open there. Written by the commit that ended the log there, never by `putFsmState`.
 */
export type Standing = {
  readonly agent: string | null
  readonly owner: string | null
  readonly lastSeq: number
  readonly isIdle: boolean
  readonly isQuarantined: boolean
}

/** `before` is the id of the last item of the previous page. Default of `limit`: 100. */
export type Page = PageBounds & { readonly before?: string }

/** `owner`: only calls of conversations that this user opened; `before` cannot name a call of another owner. */
export type InboxFilter = Page & { readonly owner?: string }

/** A log as its watcher knows it: up to `seq`, whose event has the time `at`. 0: it did not exist. */
export type WatchedLog = ConversationRef & {
  readonly seq: number
  /** Null: not known. Together with `seq` it tells a log from a later one with the same name. */
  readonly at: number | null
  /** Its status in lists, when it was not quarantined. Null: the status does not matter. */
  readonly status: ConversationStatus | null
}

/** The most logs per call of a driver. */
export const logsPerStatement = 2_000
