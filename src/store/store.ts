import type { Json } from '../base/json.ts'
import type { BlobRef } from '../log/blob-ref.ts'
import type { LogEvent, NewEvent } from '../log/events.ts'
import type { ConversationStatus, FsmState } from '../log/fsm-state.ts'
import type { Change, CommitResult } from './change.ts'
import type { ClaimOptions, ClaimOutcome, KnownLease, LeaseNews } from './lease.ts'
import type {
  ConversationAttrs,
  ConversationFilter,
  ConversationRecord,
  ConversationRef,
  FinalStatus,
  ModelCall,
  ModelCallRange,
  NewModelCall,
  PendingCall,
  Summary,
  ToolCall,
  ToolCallWrite,
} from './records.ts'
import type { Upkeep } from './upkeep.ts'

/** A place for logs: one root per process, one handle per tenant. Everything a backend must do is in this file. */
export type Store = TenantStore & {
  /** Whether data outlives the process. */
  readonly durable: boolean
  /** The same data for one tenant; the root's own methods act on tenant 'default'. Does no I/O. */
  forTenant(tenant: string): TenantStore
  /** Conversations of any tenant whose wake-up is due and that nobody holds, the longest due first. */
  dueWork(query: DueWorkQuery): Promise<ConversationRef[]>
  /** Extends every lease this holder took through this store; returns those it no longer has. */
  renewLeases(holder: string, ttlMs: number): Promise<ConversationRef[]>
  /**
   * Extends the leases that the holder says it knows, lapsed or not, and tells what is otherwise than it knows. A lease under its name that it
   * does not name is not extended: its acknowledgement was lost, and the holder must release it, or it lapses.
   */
  keepLeases(holder: string, ttlMs: number, known: readonly KnownLease[]): Promise<LeaseNews>
  /** Hints that a log has grown, also in other processes. They may be late, doubled or lost: the log is the truth. */
  onWake(listener: (hint: WakeHint) => void): Unsubscribe
  /** Those of the logs that are not as they are known any more: for watchers, in case a hint was lost. One statement for each 1,000. */
  movedLogs(watched: readonly WatchedLog[]): Promise<ConversationRef[]>
  /** Removes everything of a tenant; returns how many conversations there were. */
  deleteTenant(tenant: string): Promise<number>
  /** For copying, examining and tidying all of it: see `perdure/upkeep`. Absent where the backend does not offer it. */
  readonly upkeep?: Upkeep
  /** Must finish what was begun. Later calls are refused with `StoreClosedError`; a second close does nothing. */
  close(): Promise<void>
}

/** Whose conversations the asking process has code for, and how many it takes. */
export type DueWorkQuery = {
  readonly agents: readonly string[]
  readonly limit: number
  /** How many at most of those whose last leases lapsed: see `claimLease`. Default: as many as there are. */
  readonly suspects?: number
  /** How long the leases of whoever asks last. Where the store's clock was put back, no lease lasts longer than three times that. Default: leases are left as they are. */
  readonly leaseMs?: number
}

/** A log has grown up to `seq`, or may have. */
export type WakeHint = ConversationRef & { readonly seq: number }

/** Ends a subscription. Calling it again does nothing. */
export type Unsubscribe = () => void

/** A store, as far as one tenant can see. What is not there and what is another's are the same. */
export type TenantStore = {
  /** Appends one event and creates the conversation where there is none. Returns the assigned seq. */
  appendEvent(id: string, event: NewEvent): Promise<number>
  streamEvents(id: string, range?: EventRange): Promise<LogEvent[]>
  /** The same, for what may be long: its events are decoded as they are reached, and it says whether to read on. */
  pageEvents(id: string, range: EventRange): Promise<EventPage>
  /** What revival reads: the latest summary, and the events after it. */
  loadSince(id: string): Promise<{ summary: Summary | null; events: LogEvent[] }>
  /** The same, with the oldest of the events as a page. Read on with `pageEvents`. */
  pageSince(id: string, bounds: PageBounds): Promise<{ summary: Summary | null; page: EventPage }>

  /** Keyed by `toSeq`; the same `toSeq` replaces. Refused when it reaches past the end of the log. */
  putSummary(id: string, summary: Summary): Promise<void>
  latestSummary(id: string): Promise<Summary | null>

  /** Upserts; `settings` merge shallowly, everything else replaces. */
  putConversation(id: string, attrs: ConversationAttrs): Promise<void>
  getConversation(id: string): Promise<ConversationRecord | null>
  /** What lists show until a commit says something else. Nothing is decided on it. */
  putFsmState(id: string, fsmState: FsmState): Promise<void>
  /** What a message is planned on. Null when there is no conversation. */
  standing(id: string): Promise<Standing | null>

  /** Inserts or replaces; a new call is pending unless it says otherwise. */
  upsertToolCall(id: string, call: ToolCallWrite): Promise<void>
  getToolCall(callId: string): Promise<ToolCall | null>
  /** Oldest first. */
  pendingToolCalls(id: string): Promise<ToolCall[]>
  /**
   * Ends a pending call and appends its `resolution` in one transaction. Of all callers in all processes one gets 'ok'. `resolved` answers: an approval is
   * granted unless the result is `false`. `errored` ends the call with an error that the model reads, and never runs it: an approval is denied with the
   * result as its reason, everything else gets an error result. The row keeps status and result as given. Default of `who`: 'system'.
   */
  resolveToolCall(
    callId: string,
    status: FinalStatus,
    result: Json,
    options?: { readonly who?: string },
  ): Promise<'ok' | 'stale'>
  /** Sets the deadline to `timeoutMs` from now by the store's clock. Nothing happens when the call has ended. */
  scheduleExpiry(id: string, callId: string, timeoutMs: number): Promise<void>
  cancelExpiry(id: string, callId: string): Promise<void>

  putModelCall(id: string, call: NewModelCall): Promise<void>
  /** Ordered by `turnRef`, then by the order they were put in. */
  modelCalls(id: string, range?: ModelCallRange): Promise<ModelCall[]>
  /** Removes the rows older than `ttlMs`; returns how many. */
  gcModelCalls(id: string, ttlMs: number): Promise<number>

  /** The atomic primitive behind everything: all of a change, or nothing of it. */
  commit(id: string, change: Change): Promise<CommitResult>
  /** Newest first. */
  listConversations(filter?: ConversationFilter): Promise<ConversationRecord[]>
  /** With its events, calls, summaries, keys, audit, snapshot and child agents; never its forks. False when there was none. */
  deleteConversation(id: string): Promise<boolean>
  /** Everything that waits for somebody in this tenant, newest first. `before` is the id of the last call of the page before. */
  pendingInbox(page?: Page): Promise<PendingCall[]>
  /** Copies the log up to `at` (inclusive; default: all of it) to a new conversation that does nothing by itself. `agent`: whose it is from then on. */
  fork(id: string, newId: string, options?: { readonly at?: number; readonly agent?: string }): Promise<void>

  /** Null when another holder has it, it is quarantined, or there is no such conversation. Each acquisition has a greater epoch. */
  acquireLease(id: string, holder: string, ttlMs: number): Promise<{ epoch: number } | null>
  /**
   * As `acquireLease`, and tells what it found. A lease that lapsed without a release, within five minutes of its claim, is remembered until the
   * conversation is released or a turn of it ends; with the fifth in a row it is quarantined instead of taken.
   */
  claimLease(id: string, holder: string, ttlMs: number, options?: ClaimOptions): Promise<ClaimOutcome>
  /** Nothing happens when the epoch is not the current one. */
  releaseLease(id: string, epoch: number): Promise<void>
  /** A holder that lost this lease tells that it lives: the lapse was not the conversation's doing. */
  takeBackLapse(id: string, epoch: number): Promise<void>
  /** Lets processes work on it again. False when it was not quarantined. */
  unquarantine(id: string): Promise<boolean>

  putBlob(bytes: Uint8Array, mediaType: string): Promise<BlobRef>
  /** With `slice` only those of its bytes: fewer at its end, and none after it. */
  getBlob(ref: BlobRef, slice?: BlobSlice): Promise<{ bytes: Uint8Array; mediaType: string } | null>

  putSnapshot(id: string, snapshot: Json): Promise<void>
  getSnapshot(id: string): Promise<Json>
}

/** How much of a list is read at once: whole rows, and at least one where there is one. Default: no bound. */
export type PageBounds = {
  readonly limit?: number
  /** By the bytes of what is stored of each row as JSON. */
  readonly maxBytes?: number
}

/** `after` and `before` are exclusive. The order is always ascending. */
export type EventRange = PageBounds & {
  readonly after?: number
  readonly before?: number
  /** Which end of the range `limit` and `maxBytes` keep. Default: newest. */
  readonly keep?: 'newest' | 'oldest'
}

/** Some of a log. */
export type EventPage = {
  /** In their order. Each is decoded when it is reached, so that a page costs its text and one event. */
  readonly events: Iterable<LogEvent>
  /** Null where it is empty. */
  readonly first: EventPlace | null
  readonly last: EventPlace | null
  /** False: the range has no others. True: it may have. */
  readonly hasMore: boolean
}

/** Some of the bytes of a blob: so many of them, from the one at `from`, counted from 0. */
export type BlobSlice = { readonly from: number; readonly length: number }

/** Where an event is: two logs that had the same name do not have the same time in one place. */
export type EventPlace = { readonly seq: number; readonly at: number }

/** Whose a conversation is, where its log ends, and whether nothing was open there, as the commit that brought it there said: never `putFsmState`. */
export type Standing = {
  readonly agent: string | null
  readonly lastSeq: number
  readonly isIdle: boolean
  readonly isQuarantined: boolean
}

/** `before` is the id of the last item of the page before. Default of `limit`: 100. */
export type Page = PageBounds & { readonly before?: string }

/** A log as its watcher knows it: up to `seq`, whose event has the time `at`. 0: it was not there. */
export type WatchedLog = ConversationRef & {
  readonly seq: number
  /** Null: not known. With the seq it tells a log from a later one of the same name. */
  readonly at: number | null
  /** How it stood in lists, and it was not quarantined. Null: that does not matter. */
  readonly status: ConversationStatus | null
}

/** How many logs a driver is asked about at once, at most. */
export const logsPerStatement = 1_000
