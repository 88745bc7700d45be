import type { ConversationStatus } from '../log/fsm-state.ts'
import type { ClaimOptions, ClaimOutcome, KnownLease, LeaseNews } from './lease.ts'
import type {
  ConversationFilter,
  ConversationKind,
  ConversationRef,
  FinalStatus,
  ModelCallRange,
  ToolCall,
} from './records.ts'
import type {
  BlobSlice,
  DueWorkQuery,
  EventRange,
  Page,
  PageBounds,
  Unsubscribe,
  WakeHint,
  WatchedLog,
} from './store.ts'
import type { Upkeep } from './upkeep.ts'

/**
 * What a backend implements. `createStore` turns it into a `Store` and does once, for all backends, what does not depend on the backend:
 * validation, encoding, limits, the expiry loop, hints within the process. So a driver only sees checked arguments, holds text, and decides
 * nothing but what needs its transaction. Free text (names, titles, all JSON) arrives encoded; ids arrive as they are.
 *
 * Obligations: every method is atomic; a durable driver resolves only when the data is on disk; time is the backend's clock in milliseconds;
 * failures of the backend are `StoreError`s.
 */
export type Driver = {
  readonly durable: boolean
  /** Whether it sends a change again when its acknowledgement was lost: then it needs a key for each. Default: false. */
  readonly resends?: boolean
  /**
   * Order of checks: key, epoch or `needsFree`, expectedSeq with expectedAt and expectedAgent, resolve; then, where there is no conversation, `creates`; then the owner
   * of each call row.
   * No digest is a digest of its own. A `turn_ended` forgets the lapses of the lease. A new conversation is of kind 'conversation', idle, with settings `{}`, and null in all else.
   */
  commit(tenant: string, id: string, change: PreparedChange): Promise<CommitOutcome>
  /** Bounded by the bytes of `content`. Must not read more than it returns into memory: a log may be larger than that. */
  readEvents(tenant: string, id: string, range: StoredEventRange): Promise<StoredEvent[]>
  /** One consistent read. Of the events after the summary, the oldest that `bounds` allow. */
  loadSince(
    tenant: string,
    id: string,
    bounds?: PageBounds,
  ): Promise<{ summary: StoredSummary | null; events: StoredEvent[] }>
  /** Refuses one that reaches past the end of the log, in the same transaction. */
  putSummary(tenant: string, id: string, summary: StoredSummary): Promise<SummaryOutcome>
  latestSummary(tenant: string, id: string): Promise<StoredSummary | null>
  getConversation(tenant: string, id: string): Promise<ReadConversation | null>
  /**
   * Newest first: by `createdAt`, then by the bytes of the id; `forkOf` as `forkParents` says. Null when `before` names no conversation. Bounded by the bytes of
   * `title`, `parent`, `fsmState` and `settings`.
   */
  listConversations(
    tenant: string,
    filter: ConversationFilter & { limit: number },
  ): Promise<StoredConversation[] | null>
  /**
   * With all that belongs to it and the conversations whose parent has a `callId` in it, recursively. Returns how many were removed.
   * Where there is no conversation, a snapshot under its id is removed all the same. What is begun anew under the id must have later times than what
   * was deleted, however soon it comes: a process that knew the one tells it from the other by nothing but `seq` and time.
   */
  deleteConversation(tenant: string, id: string): Promise<number>
  deleteTenant(tenant: string): Promise<number>
  getCall(tenant: string, callId: string): Promise<StoredCall | null>
  /** Oldest first: by `createdAt`, then by the bytes of the id. */
  pendingCalls(tenant: string, id: string): Promise<StoredCall[]>
  /** Newest first: by `createdAt`, then by the bytes of the id. Null when `before` names no call. Bounded by the bytes of `name`, `args`, `prompt` and `title`. */
  inbox(tenant: string, page: Page & { limit: number }): Promise<StoredInboxCall[] | null>
  /** Sets or (null) clears the deadline of a pending call; of an ended one, nothing. */
  setDeadline(tenant: string, id: string, callId: string, inMs: number | null): Promise<'ok' | 'ended' | 'unknown'>
  /** Pending calls of any tenant whose deadline has passed, and how long until the next one that has not. */
  dueCalls(limit: number): Promise<{ due: DueCall[]; nextInMs: number | null }>
  /** False when there is no conversation. */
  putModelCall(tenant: string, id: string, call: StoredModelCall): Promise<boolean>
  /** Ordered by the bytes of `turnRef`, then as they were put. Bounded by the bytes of what is JSON in a row. */
  modelCalls(tenant: string, id: string, range: ModelCallRange): Promise<(StoredModelCall & { at: number })[]>
  gcModelCalls(tenant: string, id: string, ttlMs: number): Promise<number>
  /** Reads the source, calls `planFork`, writes the copy: one transaction. Order of checks: missing, exists, past the end. */
  fork(tenant: string, id: string, newId: string, request: ForkRequest): Promise<ForkOutcome>
  /** See `judgeClaim` for what it makes of the lease it finds. A holder may claim what it has, under a new epoch. */
  claimLease(
    tenant: string,
    id: string,
    holder: string,
    ttlMs: number,
    options: Required<ClaimOptions>,
  ): Promise<ClaimOutcome>
  /** Forgets the lapses as well. */
  releaseLease(tenant: string, id: string, epoch: number): Promise<void>
  /** Forgets that the lease of this epoch lapsed, where that is remembered: see `withoutLapse`. */
  takeBackLapse(tenant: string, id: string, epoch: number): Promise<void>
  /** Ends a quarantine and forgets the lapses. False when it was not quarantined. */
  unquarantine(tenant: string, id: string): Promise<boolean>
  /** Extends the leases in `known` that the holder still has, lapsed or not, and no others. Must be one statement: see `leaseNews`. */
  renewLeases(holder: string, ttlMs: number, known: readonly KnownLease[]): Promise<LeaseNews>
  /**
   * What may be worked on now, that which is due first in front. Where the clock was put back (see `ClockWatch`), what was due by then stays due: a wake-up that is not later than the
   * last write of its row, and that of a conversation that is held. And a lease that lasts longer than any could, by `leaseMs`, is cut: its holder, if it lives, renews it.
   */
  dueWork(query: DueWorkQuery): Promise<ConversationRef[]>
  /**
   * The places in the list, from 0, of those that are not as they are known: the log ends elsewhere, the event at `seq` has another time, or, where a status is
   * known, it is another or the conversation is quarantined. One that is not there ends at 0 and has no status. Must be one statement: it is asked again and again about all that is watched.
   */
  movedLogs(watched: readonly WatchedLog[]): Promise<number[]>
  /** Adds one pin to the blob, so that it is not removed before an event refers to it. A known blob keeps its media type. */
  putBlob(tenant: string, hash: string, bytes: Uint8Array, mediaType: string): Promise<void>
  /** With `slice` no more than those bytes are in memory. */
  getBlob(tenant: string, hash: string, slice?: BlobSlice): Promise<{ bytes: Uint8Array; mediaType: string } | null>
  putSnapshot(tenant: string, id: string, snapshot: string): Promise<void>
  getSnapshot(tenant: string, id: string): Promise<string | null>
  /** Tells of logs that other processes (or stores of this process) have made grow. Called once, when somebody first listens. */
  watchOthers(emit: (hint: WakeHint) => void): Unsubscribe
  /** So that the store can be copied, examined and tidied whole. A driver may do without. */
  readonly upkeep?: Upkeep
  /** Called once, when nothing is under way any more. */
  close(): Promise<void>
}

/** An event as a driver holds it. */
export type StoredEvent = { readonly seq: number; readonly at: number; readonly type: string; readonly content: string }

/** `type`: only these. */
export type StoredEventRange = EventRange & { readonly type?: string }

/** A summary as a driver holds it. */
export type StoredSummary = {
  readonly fromSeq: number
  readonly toSeq: number
  readonly content: string
  readonly version: number
  readonly base: string | null
}

/** A conversation as a driver holds it; JSON as text. */
export type StoredConversation = {
  readonly id: string
  readonly kind: ConversationKind
  readonly agent: string | null
  readonly status: ConversationStatus
  readonly settings: string
  readonly fsmState: string | null
  readonly title: string | null
  readonly parent: string | null
  readonly lastSeq: number
  readonly createdAt: number
  readonly updatedAt: number
  /** Null unless it is quarantined; then since when, and the epoch of the lease that stands for it. */
  readonly quarantinedAt: number | null
  readonly quarantineEpoch: number | null
}

/** With what the engine plans a message on: see `StoredAttrs.idleSeq`. */
export type ReadConversation = StoredConversation & { readonly idleSeq: number }

/** Only what is given is written; `settings` merge shallowly (`mergeSettings`). */
export type StoredAttrs = {
  readonly kind?: ConversationKind
  readonly agent?: string
  readonly status?: ConversationStatus
  readonly settings?: string
  readonly fsmState?: string
  /**
   * The seq at which the change leaves the log with nothing open, by whoever knows the log; 0: something is. Kept apart from `fsmState`, which anybody may
   * write. 0 in a new conversation, in a fork and in one that is restored.
   */
  readonly idleSeq?: number
  readonly title?: string | null
  readonly parent?: string
  /** Given with `parent`: its id again, when this is a child agent of it, else null. Deletion follows it. */
  readonly childOf?: string | null
}

/** A call row as a driver holds it. */
export type StoredCall = Omit<ToolCall, 'name' | 'args' | 'result' | 'prompt'> & {
  readonly name: string
  readonly args: string
  readonly result: string | null
  readonly prompt: string | null
  /** Seq of the resolution that ended the row's round. */
  readonly resolvedSeq: number | null
}

/** A call row, with what an inbox shows of its conversation. */
export type StoredInboxCall = StoredCall & {
  readonly agent: string | null
  readonly title: string | null
  readonly quarantinedAt: number | null
}

/** Replaces the whole row but `createdAt`. `resolvedAt` is now when the status is final, else null. */
export type StoredCallWrite = Pick<
  StoredCall,
  'id' | 'name' | 'executor' | 'status' | 'args' | 'result' | 'round' | 'kind' | 'prompt'
> & { readonly expiresInMs: number | null }

/** A pending call whose deadline has passed. */
export type DueCall = ConversationRef & Pick<ToolCall, 'round' | 'kind'> & { readonly callId: string }

/** A row of the audit as a driver holds it. */
export type StoredModelCall = {
  readonly turnRef: string
  readonly renderedContext: string | null
  readonly model: string | null
  readonly usage: string | null
  readonly latencyMs: number | null
  /** Encoded. */
  readonly status: string
  readonly summaryVersion: number | null
  readonly evictions: string | null
  /** Null: now. */
  readonly at: number | null
}

/** A change as a driver gets it: checked, encoded, with all defaults written in. */
export type PreparedChange = {
  readonly events: readonly { readonly type: string; readonly content: string }[]
  /** Hashes the events refer to. For each the tenant has: refer to it from this conversation, and take one pin away. */
  readonly blobs: readonly string[]
  readonly expectedSeq: number | null
  /** Only with `expectedSeq`: the time of that event must be this, or it is another log. */
  readonly expectedAt: number | null
  /** Only with `expectedSeq`: the conversation must have this agent. */
  readonly expectedAgent: string | null
  readonly epoch: number | null
  /**
   * It has events that only an owner writes, and no epoch: refuse (`owned`) while a lease is live, or a call of the
   * conversation is pending that the change does not end by `resolve`.
   */
  readonly needsFree: boolean
  readonly key: string | null
  readonly digest: string | null
  /** Written after `resolve`. */
  readonly calls: readonly StoredCallWrite[]
  readonly resolve: readonly PreparedResolve[]
  readonly attrs: StoredAttrs
  readonly wake: Wake
  readonly releasesLease: boolean
  /**
   * Take the lease for this holder, when the change is made and no lease is live, as a claim does; a claim that gets none does not keep the change from
   * being made. A change that is known by its key is told the epoch it got the first
   * time while that lease is this holder's, and the lease is renewed: so the key is kept with that epoch.
   */
  readonly acquires: { readonly holder: string; readonly ttlMs: number; readonly suspects: boolean } | null
  /** Whether it may bring a conversation into being. */
  readonly creates: boolean
}

/** Writes status, result, `resolvedAt` and `resolvedSeq`; `expiresAt` stays, as what the deadline was. */
export type PreparedResolve = {
  readonly callId: string
  readonly round: number
  readonly status: FinalStatus
  readonly result: string
  /** Which of the change's events is its resolution; null when none is. */
  readonly eventIndex: number | null
  /** Refuse (stale) unless the deadline has passed by the backend's clock. */
  readonly onlyWhenDue: boolean
}

/**
 * `in`: wake in so many ms, and a dormant fork is dormant no longer. `expiry`: now, with status active; but a dormant fork is left alone.
 * `clear`: no wake-up. `keep`: as it was.
 */
export type Wake = { readonly type: 'in'; readonly ms: number } | { readonly type: 'expiry' | 'clear' | 'keep' }

/** How a commit went, as a driver tells it. Nothing was written unless it is `ok`. */
export type CommitOutcome =
  /** `at`: the time the events were given; absent when there were none, or a known key was met. `epoch`: of the lease that came with it. */
  { readonly type: 'ok'; readonly seq: number; readonly at?: number; readonly epoch?: number } | CommitRefusal

/** Why nothing was written. */
export type CommitRefusal =
  | { readonly type: 'seq' | 'epoch'; readonly lastSeq: number }
  /** `needsFree`, and it is not. */
  | { readonly type: 'owned' }
  /** The first guard that failed. */
  | { readonly type: 'stale'; readonly lastSeq: number; readonly callId: string; readonly round: number }
  | { readonly type: 'key_reused' }
  /** There is no conversation, and the change does not create one. */
  | { readonly type: 'missing' }
  /** A call row of that id belongs to another conversation of the tenant. */
  | { readonly type: 'call_elsewhere'; readonly callId: string }

/** `at` null: all of it. `agent` null: the source's. */
export type ForkRequest = { readonly at: number | null; readonly agent: string | null }

/** How a summary went; `pastEnd` is the last seq of the log. */
export type SummaryOutcome = 'ok' | 'missing' | { readonly pastEnd: number }

/** How a fork went; `pastEnd` is the last seq of the source. */
export type ForkOutcome = 'ok' | 'missing' | 'exists' | { readonly pastEnd: number }
