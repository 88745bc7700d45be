import type { ConversationStatus } from '../log/fsm-state.ts'
import type { Accounts } from './accounts.ts'
import type { ClaimedRow, PreparedClaim } from './claim-due.ts'
import type { JobDriver } from './jobs.ts'
import type { ClaimOptions, ClaimOutcome, KnownLease, LeaseNews } from './lease.ts'
import type { LiveBus } from './live-bus.ts'
import type { NodesDriver } from './nodes.ts'
import type { Outbox } from './outbox.ts'
import type {
  ConversationFilter,
  ConversationKind,
  ConversationRef,
  FinalStatus,
  ModelCallRange,
  Tally,
  ToolCall,
} from './records.ts'
import type { SlotLimit, SlotLimits } from './slots.ts'
import type { SteeringDriver } from './steering.ts'
import type {
  BlobSlice,
  DueWorkQuery,
  EventRange,
  InboxFilter,
  PageBounds,
  Unsubscribe,
  WakeHint,
  WatchedLog,
  WorkerHere,
} from './store.ts'
import type { Upkeep } from './upkeep.ts'

/**
 * What a backend implements. `createStore` turns it into a `Store` and does everything that does not depend on the backend: validation, encoding,
 * limits, the expiry loop, hints within the process. So a driver sees only checked arguments, holds text, and decides only what needs its
 * transaction. Free text (names, titles, all JSON) arrives encoded; ids arrive as they are.
 *
 * Obligations: every method is atomic; a durable driver resolves only when the data is on disk; time is the backend's clock in milliseconds;
 * failures of the backend are `StoreError`s.
 */
export type Driver = {
  readonly durable: boolean
  /** Whether the driver resends a change when its acknowledgement was lost. It then needs a key for each change. Default: false. */
  readonly resends?: boolean
  /**
   * Order of checks: key, epoch or `needsFree`, expectedSeq with expectedAt and expectedAgent, resolve and deadline; then, where there is no conversation, `creates`; then
   * the owner of each call row; then `seeds`.
   * A missing digest is a digest of its own. A `turn_ended` forgets the lapses of the lease. A new conversation has kind 'conversation', status idle, settings
   * `{}`, and null everywhere else.
   */
  commit(tenant: string, id: string, change: PreparedChange): Promise<CommitOutcome>
  /** Bounded by the bytes of `content`. Must not read more into memory than it returns: a log may be larger than memory. */
  readEvents(tenant: string, id: string, range: StoredEventRange): Promise<StoredEvent[]>
  /** One consistent read. Returns the oldest events after the summary that `bounds` allow. */
  loadSince(
    tenant: string,
    id: string,
    bounds?: PageBounds,
  ): Promise<{ summary: StoredSummary | null; events: StoredEvent[] }>
  /**
   * Must refuse a summary past the end of the log, one that was planned before the log's last `superseded` (`plannedOn` is less than its seq), and one that
   * overlaps a summary with another `toSeq` without covering it (`fitsBeside`), in the same transaction.
   */
  putSummary(tenant: string, id: string, summary: StoredSummary, plannedOn: number): Promise<SummaryOutcome>
  latestSummary(tenant: string, id: string): Promise<StoredSummary | null>
  getConversation(tenant: string, id: string): Promise<ReadConversation | null>
  /**
   * Newest first: by `createdAt`, then by the bytes of the id; `forkOf` as `forkParents` says, `text` as `searchedText` says. Null when `before` names no conversation, or none of `owner`.
   * Bounded by the bytes of `title`, `parent`, `fsmState` and `settings`.
   */
  listConversations(
    tenant: string,
    filter: ConversationFilter & { limit: number },
  ): Promise<StoredConversation[] | null>
  /**
   * The ids of the tenant's conversations that were committed to, and of those that were deleted, at or after `since`; more is allowed. Null when there are more
   * than `limit`, or finding them would read more than a bounded part of the store. Optional: without it, a feed that was interrupted begins anew.
   */
  changedSince?(tenant: string, since: number, limit: number): Promise<string[] | null>
  /** Counts the newest `mostTallied` conversations and pending calls, of `owner` where that is not null. Optional: without it, there are no totals. */
  tally?(tenant: string, owner: string | null): Promise<Tally>
  /**
   * Deletes a conversation with all its rows, and recursively the conversations whose parent has a `callId` in it. Returns how many were removed.
   * Where there is no conversation, a snapshot under its id is removed all the same. Leaves a tombstone for the id and for each conversation removed: tenant, id
   * and time, which stay. A new conversation under the id must have later times than the deleted
   * one, however soon it is created: a process that knew the old one can tell them apart only by `seq` and time.
   */
  deleteConversation(tenant: string, id: string): Promise<number>
  /** Leaves a tombstone for each conversation, and those that are there. */
  deleteTenant(tenant: string): Promise<number>
  getCall(tenant: string, callId: string): Promise<StoredCall | null>
  /** Oldest first: by `createdAt`, then by the bytes of the id. `isBrief`: arguments, prompts and `meta` are not asked for, and may be 'null'. */
  pendingCalls(tenant: string, id: string, isBrief?: boolean): Promise<StoredCall[]>
  /**
   * Newest first: by `createdAt`, then by the bytes of the id. Null when `before` names no call, or none of a conversation of `owner`. Bounded by the bytes of
   * `name`, `args`, `prompt`, `notice`, `meta` and `title`.
   */
  inbox(tenant: string, page: InboxFilter & { limit: number }): Promise<StoredInboxCall[] | null>
  /** Pending calls of any tenant whose deadline has passed, and how long until the next one that has not. */
  dueCalls(limit: number): Promise<{ due: DueCall[]; nextInMs: number | null }>
  /** False when there is no conversation. */
  putModelCall(tenant: string, id: string, call: StoredModelCall): Promise<boolean>
  /** Ordered by the bytes of `turnRef`, then by insertion. Bounded by the bytes of the JSON in a row. */
  modelCalls(tenant: string, id: string, range: ModelCallRange): Promise<(StoredModelCall & { at: number })[]>
  gcModelCalls(tenant: string, id: string, ttlMs: number): Promise<number>
  /** Reads the source, calls `planFork`, writes the copy: one transaction. Order of checks: missing, exists, past the end. */
  fork(tenant: string, id: string, newId: string, request: ForkRequest): Promise<ForkOutcome>
  /** `judgeClaim` decides what happens to the lease it finds. A holder may claim a lease it already has, under a new epoch. */
  claimLease(
    tenant: string,
    id: string,
    holder: string,
    ttlMs: number,
    options: Required<ClaimOptions>,
  ): Promise<ClaimOutcome>
  /** Also forgets the lapses. */
  releaseLease(tenant: string, id: string, epoch: number): Promise<void>
  /** Forgets that the lease of this epoch lapsed, if that is recorded: see `withoutLapse`. */
  takeBackLapse(tenant: string, id: string, epoch: number): Promise<void>
  /** Ends a quarantine and forgets the lapses. False when it was not quarantined. */
  unquarantine(tenant: string, id: string): Promise<boolean>
  /** Extends the leases in `known` that the holder still has, lapsed or not, and no others. Must be one statement: see `leaseNews`. */
  renewLeases(holder: string, ttlMs: number, known: readonly KnownLease[]): Promise<LeaseNews>
  /**
   * The conversations that may be worked on now, in the order of `Store.dueWork`. Where the clock was put back (see `ClockWatch`), work that was due stays due: a wake-up
   * not later than the last write of its row, and the wake-up of a held conversation. A lease longer than any could be, by `leaseMs`, is cut; a living holder
   * renews it.
   */
  dueWork(query: DueWorkQuery): Promise<ConversationRef[]>
  /**
   * Claims what `dueWork` finds, in its order: each conversation as `claimLease` does, all in one transaction. Must not wait for a row that another
   * claim is taking: it is left out. `DueChoice` chooses, for drivers that decide in code. The clock is watched as by `dueWork`. Optional: without it, conversations
   * are claimed one by one.
   */
  claimDue?(claim: PreparedClaim): Promise<ClaimedRow[]>
  /**
   * The positions in the list, from 0, of the logs that differ from what the watcher knows: the log ends elsewhere, the event at `seq` has another time, or,
   * where a status is given, the status differs or the conversation is quarantined. A missing conversation ends at 0 and has no status. Must be one statement:
   * it runs repeatedly for all watched logs.
   */
  movedLogs(watched: readonly WatchedLog[]): Promise<number[]>
  /** Adds one pin to the blob, so that it is not removed before an event refers to it. A known blob keeps its media type. */
  putBlob(tenant: string, hash: string, bytes: Uint8Array, mediaType: string): Promise<void>
  /** With `slice`, must hold no more than those bytes in memory. */
  getBlob(tenant: string, hash: string, slice?: BlobSlice): Promise<{ bytes: Uint8Array; mediaType: string } | null>
  putSnapshot(tenant: string, id: string, snapshot: string): Promise<void>
  getSnapshot(tenant: string, id: string): Promise<string | null>
  /**
   * Reports logs that other processes (or other stores of this process) have extended. Called once, at the first subscription. `onMissed`: some may not have been
   * reported, as while a connection was away.
   */
  watchOthers(emit: (hint: WakeHint) => void, onMissed: () => void): Unsubscribe
  /** Optional. */
  announce?(worker: WorkerHere): Unsubscribe
  /** For export, examination and cleanup of the whole store. Optional. */
  readonly upkeep?: Upkeep
  /** For bulk jobs. Optional. */
  readonly jobs?: JobDriver
  /** For subscribers. Optional. */
  readonly outbox?: Outbox
  /** For limits: see `Accounts`. Optional. A driver without it ignores the limits of claims. */
  readonly accounts?: Accounts
  /** For what is live, where several processes have the store open. Optional. */
  readonly liveBus?: LiveBus
  /** For sight of the processes. Optional. */
  readonly nodes?: NodesDriver
  /** For pauses. Optional. */
  readonly steering?: SteeringDriver
  /** Called once, when no operation is running any more. */
  close(): Promise<void>
}

/** An event as a driver stores it. */
export type StoredEvent = { readonly seq: number; readonly at: number; readonly type: string; readonly content: string }

/** `type`: only events of this type. */
export type StoredEventRange = EventRange & { readonly type?: string }

/** A summary as a driver stores it. */
export type StoredSummary = {
  readonly fromSeq: number
  readonly toSeq: number
  readonly content: string
  readonly version: number
  readonly base: string | null
}

/** A conversation as a driver stores it; JSON as text. */
export type StoredConversation = {
  readonly id: string
  readonly kind: ConversationKind
  readonly agent: string | null
  readonly owner: string | null
  readonly status: ConversationStatus
  readonly settings: string
  readonly fsmState: string | null
  readonly title: string | null
  readonly parent: string | null
  readonly lastSeq: number
  readonly createdAt: number
  readonly updatedAt: number
  /** Null unless the conversation is quarantined; then since when, and the epoch of the quarantine lease. */
  readonly quarantinedAt: number | null
  readonly quarantineEpoch: number | null
  /** Only in `listConversations`: how many of its calls are pending and not of kind `sub_agent`. */
  readonly waiting?: number
}

/** Includes what the engine needs to plan a message: see `StoredAttrs.idleSeq`. */
export type ReadConversation = StoredConversation & { readonly idleSeq: number }

/** Only members that are present are written; `settings` merge shallowly (`mergeSettings`). */
export type StoredAttrs = {
  readonly kind?: ConversationKind
  readonly agent?: string
  /**
   * Written only where the conversation has none. A conversation with `childOf` that has none takes its parent's instead, and this one where the parent has none or
   * does not exist.
   */
  readonly owner?: string
  readonly status?: ConversationStatus
  readonly settings?: string
  readonly fsmState?: string
  /**
   * The `seq` at which the change leaves the log without an open turn, set by a process that knows the log; 0: a turn is open. Kept apart from `fsmState`,
   * which any process may write. 0 in a new, forked or restored conversation.
   */
  readonly idleSeq?: number
  readonly title?: string | null
  readonly parent?: string
  /** Set together with `parent`: the parent's id when this is its child agent, else null. Deletion follows it. */
  readonly childOf?: string | null
}

/** A call row as a driver stores it. */
export type StoredCall = Omit<ToolCall, 'name' | 'args' | 'result' | 'prompt' | 'notice' | 'meta'> & {
  readonly name: string
  readonly args: string
  readonly result: string | null
  readonly prompt: string | null
  readonly notice: string | null
  readonly meta: string | null
  /** `seq` of the resolution that ended the row's round. */
  readonly resolvedSeq: number | null
}

/** A call row, with what an inbox shows of its conversation. */
export type StoredInboxCall = StoredCall & {
  readonly agent: string | null
  readonly title: string | null
  readonly owner: string | null
  readonly quarantinedAt: number | null
}

/** Replaces the whole row except `createdAt`, and `meta` where it is null. `resolvedAt` is now when the status is final, else null. */
export type StoredCallWrite = Pick<
  StoredCall,
  'id' | 'name' | 'executor' | 'status' | 'args' | 'result' | 'round' | 'kind' | 'prompt' | 'notice' | 'meta'
> & { readonly expiresInMs: number | null }

/** A pending call whose deadline has passed. */
export type DueCall = ConversationRef & Pick<ToolCall, 'round' | 'kind'> & { readonly callId: string }

/** An audit row as a driver stores it. */
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
  readonly meta: string | null
  /** Null: now. */
  readonly at: number | null
}

/** A change as a driver gets it: checked, encoded, with all defaults filled in. */
export type PreparedChange = {
  readonly events: readonly { readonly type: string; readonly content: string }[]
  /** Hashes that the events refer to. For each one that the tenant has: refer to it from this conversation, and remove one pin. */
  readonly blobs: readonly string[]
  readonly expectedSeq: number | null
  /** Only with `expectedSeq`: the event there must have this time, or it is another log. */
  readonly expectedAt: number | null
  /** Only with `expectedSeq`: the conversation must have this agent. */
  readonly expectedAgent: string | null
  readonly epoch: number | null
  /**
   * The change has events that only an owner writes, and no epoch. Refuse it (`owned`) while a lease is live, or while a call of the conversation is pending
   * that the change does not end by `resolve`.
   */
  readonly needsFree: boolean
  readonly key: string | null
  readonly digest: string | null
  /** Written after `resolve`. */
  readonly calls: readonly StoredCallWrite[]
  readonly resolve: readonly PreparedResolve[]
  /** The deadline that the change's `deadline_moved` moves. Such a change has no `calls` and no `resolve`. */
  readonly deadline: PreparedDeadline | null
  readonly attrs: StoredAttrs
  readonly wake: Wake
  readonly releasesLease: boolean
  /**
   * Take the lease for this holder when the change is written and no lease is live, as a claim does. A claim that gets no lease does not prevent the change.
   * For a known key, return the epoch of the first time while that lease is still this holder's, and renew it: so the epoch is stored with the key.
   */
  readonly acquires: Acquire | null
  /** Whether the change may create the conversation. */
  readonly creates: boolean
  /** The change begins with what a snapshot says. Refuse it (`deleted`) where the log is empty and the id has a tombstone. */
  readonly seeds: boolean
  /** The change withdraws the turns from this seq on: summaries with `toSeq` there or later are deleted with it. */
  readonly withdrawsFrom: number | null
}

/** `limits`: see `ClaimOptions`. Empty where there are none. */
export type Acquire = {
  readonly holder: string
  readonly ttlMs: number
  readonly suspects: boolean
  readonly limits: SlotLimits
}

/** Writes status, result, `resolvedAt` and `resolvedSeq`; `expiresAt` stays, as a record of the deadline. */
export type PreparedResolve = {
  readonly callId: string
  readonly round: number
  readonly status: FinalStatus
  readonly result: string
  /** The index of its resolution among the change's events; null when there is none. */
  readonly eventIndex: number | null
  /** Refuse (stale) unless the deadline has passed by the backend's clock. */
  readonly onlyWhenDue: boolean
}

/**
 * Refuse (stale) unless the call is pending in that round, of this conversation. Otherwise `expiresAt` of its row becomes the `at` of the change's events plus
 * `expiresInMs`; null: no deadline.
 */
export type PreparedDeadline = {
  readonly callId: string
  readonly round: number
  readonly expiresInMs: number | null
}

/**
 * `in`: wake in `ms`, which also ends the dormancy of a fork. `expiry`: wake now, with status active, but leave a dormant fork alone.
 * `clear`: no wake-up. `keep`: unchanged.
 */
export type Wake = { readonly type: 'in'; readonly ms: number } | { readonly type: 'expiry' | 'clear' | 'keep' }

/** The outcome of a commit, as a driver returns it. Nothing is written unless it is `ok`. */
export type CommitOutcome =
  /**
   * `at`: the time of the events; absent when there were none, or the key was known. `epoch`: of the lease that was taken with it. `limited`: why none was. `taker`: of a
   * deadline that has passed, as in `WakeHint`.
   */
  | {
      readonly type: 'ok'
      readonly seq: number
      readonly at?: number
      readonly epoch?: number
      readonly limited?: SlotLimit
      readonly taker?: string | null
    }
  | CommitRefusal

/** Why nothing was written. */
export type CommitRefusal =
  | { readonly type: 'seq' | 'epoch'; readonly lastSeq: number }
  /** `needsFree` is set, and the conversation has an owner or a pending call. */
  | { readonly type: 'owned' }
  /** The first guard that failed. */
  | { readonly type: 'stale'; readonly lastSeq: number; readonly callId: string; readonly round: number }
  | { readonly type: 'key_reused' }
  /** The conversation does not exist, and the change does not create it. */
  | { readonly type: 'missing' }
  /** A call row with that id belongs to another conversation of the tenant. */
  | { readonly type: 'call_elsewhere'; readonly callId: string }
  /** `seeds` is set, the log is empty, and the id has a tombstone. */
  | { readonly type: 'deleted' }

/** `at` null: the whole log. `agent` and `owner` null: the source's. */
export type ForkRequest = { readonly at: number | null; readonly agent: string | null; readonly owner: string | null }

/** The outcome of `putSummary`; `pastEnd` is the last `seq` of the log, `overlaps` the first summary that does not fit beside the new one. */
export type SummaryOutcome =
  | 'ok'
  | 'missing'
  | { readonly pastEnd: number }
  | { readonly overlaps: Pick<StoredSummary, 'fromSeq' | 'toSeq'> }
  /** Turns were withdrawn there, after the summary was planned. */
  | { readonly supersededAt: number }

/** The outcome of a fork; `pastEnd` is the last `seq` of the source. */
export type ForkOutcome = 'ok' | 'missing' | 'exists' | { readonly pastEnd: number }
