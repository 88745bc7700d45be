import type { StoredCall, StoredConversation, StoredEvent, StoredModelCall, StoredSummary } from './driver.ts'

/**
 * What a store may offer beside its contract, so that the whole store can be exported, examined and cleaned up. It works on stored rows: text that the codec
 * made. Optional; functions that need it throw when it is missing.
 */
export type Upkeep = {
  /** Everything that `work` reads is from one moment, however long it takes. Must not keep other processes from writing. */
  snapshot<T>(work: (reader: UpkeepReader) => Promise<T>): Promise<T>

  /**
   * Writes a conversation back exactly as it was read, with times, deadlines and wake-up, but without a lease. Writes all of it or nothing, also when `rows`
   * throws; that error is rethrown. `exists` is returned before any row is read.
   */
  restoreConversation(
    tenant: string,
    conversation: RestoredConversation,
    rows: AsyncIterable<ConversationRow>,
  ): Promise<RestoreOutcome>
  /** A known blob keeps its data and the greater number of pins. */
  restoreBlob(tenant: string, blob: RestoredBlob): Promise<void>
  /** False when there is already a snapshot under this id, which stays unchanged. */
  restoreSnapshot(tenant: string, id: string, snapshot: string): Promise<boolean>
  /** Of two tombstones of one id, the later one stays. Whether there is a conversation under the id does not matter. */
  restoreTombstone(tenant: string, tombstone: Tombstone): Promise<void>

  /**
   * Replaces what is derived from the log, in one transaction. Writes nothing when the log or the row has changed since (`moved`), or while a holder has a live
   * lease (`held`), unless that lease is a quarantine.
   */
  rebuild(tenant: string, id: string, rebuilt: Rebuilt): Promise<'ok' | 'moved' | 'held'>

  /** Removes unreachable rows, or only counts them. At most `limit` rows, so that other writers are not held up. */
  collect(request: CollectRequest): Promise<Collected>
  /** Returns the space of removed rows to the disk, where the backend does not do so itself. */
  compact?(): Promise<void>

  /** What was recorded in the last `windowMs`, for figures of health. Bounded: see `mostFigures`. Optional. */
  figures?(windowMs: number): Promise<StoredFigures>

  /** Reads the schema versions without changing anything. `found` is null when there is no store yet; `known` is what this version writes. */
  schema(): Promise<SchemaVersions>
  /** Migrates the schema to `known`, as the first use of the store does. */
  migrate(): Promise<SchemaVersions>
}

export type SchemaVersions = { readonly found: number | null; readonly known: number }

/** A conversation's own row, without what follows from its events and without its lease. */
export type RestoredConversation = Omit<StoredConversation, 'lastSeq' | 'quarantinedAt' | 'quarantineEpoch'> & {
  readonly childOf: string | null
  readonly wakeAt: number | null
  readonly isDormant: boolean
}

/** A row of a conversation. Rows come in the order of these types, and within a type in the order of their keys. */
export type ConversationRow =
  | { readonly type: 'event'; readonly row: StoredEvent }
  | { readonly type: 'call'; readonly row: StoredCall }
  | { readonly type: 'summary'; readonly row: StoredSummary }
  | { readonly type: 'key'; readonly row: StoredKey }
  /** By the bytes of `turnRef`, then by insertion. */
  | { readonly type: 'model_call'; readonly row: StoredModelCall & { readonly at: number } }
  | { readonly type: 'blob_ref'; readonly row: StoredBlobRef }

export type RestoreOutcome =
  | { readonly type: 'ok'; readonly seq: number }
  | { readonly type: 'exists' }
  /** A call with this id belongs to another conversation of the tenant. */
  | { readonly type: 'call_exists'; readonly callId: string }
  /** A row refers to a blob that the tenant does not have. */
  | { readonly type: 'blob_missing'; readonly hash: string }

export type RestoredBlob = {
  readonly hash: string
  readonly mediaType: string
  readonly pins: number
  readonly bytes: Uint8Array
}

/** Absent members stay as they are. */
export type Rebuilt = {
  /** The values in the row that this was rebuilt from. */
  readonly expected: { readonly lastSeq: number; readonly updatedAt: number }
  readonly columns: {
    readonly kind?: StoredConversation['kind']
    readonly lastSeq?: number
    readonly status?: StoredConversation['status']
    readonly fsmState?: string | null
    readonly idleSeq?: number
    readonly title?: string | null
    readonly childOf?: string | null
    readonly owner?: string
    readonly wakeAt?: number
  }
  readonly putCalls: readonly StoredCall[]
  readonly removeCalls: readonly string[]
  readonly bases: readonly { readonly toSeq: number; readonly base: string }[]
  readonly putBlobRefs: readonly StoredBlobRef[]
  readonly removeBlobRefs: readonly string[]
}

/**
 * `model_calls`: audit rows older than `olderThanMs`. `blobs`: blobs without references and pins. `pins`: all pins, so that the next `blobs` finds files that
 * were uploaded and never sent; only while no messages are being sent. For deleted conversations: `derived_orphans`, the rows of calls and of references to
 * blobs; `orphans`, keys, summaries and audit rows, unless events are left that they may belong to.
 */
export type CollectRequest = {
  readonly what: 'model_calls' | 'blobs' | 'pins' | 'orphans' | 'derived_orphans'
  readonly tenant: string | null
  readonly olderThanMs: number
  readonly limit: number
  readonly isDryRun: boolean
}

/** `bytes`: the total size of the blobs. */
export type Collected = { readonly rows: number; readonly bytes: number }

/** Reads one moment of a whole store. Lists are in the order of the bytes of their ids, and are read in pages, whatever their length. */
export type UpkeepReader = {
  /** The time of the snapshot, by the store's clock. */
  readonly now: number
  /** The greatest epoch ever granted. */
  readonly lastEpoch: number
  /** The tenants that have any data. */
  tenants(): AsyncIterable<string>
  /** How many conversations one tenant has, or (null) all tenants. */
  count(tenant: string | null): Promise<number>
  conversations(tenant: string): AsyncIterable<UpkeepConversation>
  conversation(tenant: string, id: string): Promise<UpkeepConversation | null>
  rows(tenant: string, id: string): AsyncIterable<ConversationRow>
  /** The row of a call, in any conversation. */
  call(tenant: string, callId: string): Promise<StoredCall | null>
  /** The `toSeq` of each of its summaries. */
  summarySeqs(tenant: string, id: string): Promise<number[]>
  blobs(tenant: string): AsyncIterable<BlobHead>
  blob(tenant: string, hash: string): Promise<BlobHead | null>
  /** Null when the bytes are missing. */
  blobBytes(tenant: string, hash: string): Promise<Uint8Array | null>
  /** Includes snapshots without a conversation. */
  snapshots(tenant: string): AsyncIterable<{ readonly id: string; readonly snapshot: string }>
  /** What deletions have left. */
  tombstones(tenant: string): AsyncIterable<Tombstone>
  /** Rows whose conversation is gone, and references whose blob is gone, counted by table and owner. `rows` does not return them. */
  orphans(): AsyncIterable<Orphans>
}

export type UpkeepConversation = RestoredConversation & {
  /** See `StoredAttrs`. */
  readonly idleSeq: number
  /** As stored in the row. */
  readonly lastSeq: number
  /** As stored in the row: all null when no process holds it. */
  readonly leaseHolder: string | null
  readonly leaseEpoch: number | null
  readonly leaseUntil: number | null
  /** Null unless that lease is a quarantine. */
  readonly quarantinedAt: number | null
}

/** Says that an id was deleted, and when. It stays, so that the id is never restored from a snapshot. */
export type Tombstone = { readonly id: string; readonly at: number }

export type StoredKey = { readonly key: string; readonly seq: number; readonly digest: string | null }

export type StoredBlobRef = { readonly hash: string; readonly firstSeq: number }

export type BlobHead = {
  readonly hash: string
  readonly mediaType: string
  readonly pins: number
  /** How many conversations refer to it. */
  readonly references: number
}

export type Orphans = {
  readonly table: ConversationRow['type']
  /** What the rows name as their conversation: an id where the backend stores it, else an internal number. */
  readonly owner: string
  readonly count: number
}

/** What a store has recorded since a moment, for figures of its health. Each list is bounded; `isPartial` says that there was more. */
export type StoredFigures = {
  /** By the store's clock. */
  readonly now: number
  readonly storeBytes: number | null
  /** Of `turn_ended`, `tool_started`, `tool_result` and `resolution`, in any order. `log` identifies the log. */
  readonly events: readonly FigureEvent[]
  readonly modelCalls: readonly FigureCall[]
  readonly inbox: { readonly waiting: number; readonly oldestAt: number | null }
  /** Calls that waited for an answer and no longer do. */
  readonly answered: readonly { readonly createdAt: number; readonly resolvedAt: number }[]
  readonly nodes: readonly { readonly holder: string; readonly leases: number; readonly nextLapseAt: number }[]
  readonly expiry: { readonly overdue: number; readonly oldestDueAt: number | null }
  readonly isPartial: boolean
}

/** `callId` is null in the end of a turn; `status` is that of a turn or an answer, and `reason` that of a turn. */
type FigureEvent = {
  readonly log: string | number
  readonly type: string
  readonly at: number
  readonly callId: string | null
  readonly status: string | null
  readonly reason: string | null
}

/** `model`, `usage` and `status` as they are stored. */
type FigureCall = {
  /** As in events. */
  readonly log: string | number
  readonly at: number
  readonly latencyMs: number | null
  readonly status: string
  readonly model: string | null
  readonly usage: string | null
}

/** The most rows of each kind that figures are made of. */
export const mostFigures = { events: 20_000, modelCalls: 10_000, logs: 1_000, calls: 20_000, nodes: 100 }
