import type { StoredCall, StoredConversation, StoredEvent, StoredModelCall, StoredSummary } from './driver.ts'

/**
 * What a store may offer beside its contract, so that it can be copied, examined and tidied whole. It speaks in stored rows: text that the
 * codec made. Optional; what needs it says so where it is missing.
 */
export type Upkeep = {
  /** Everything `work` reads is of one moment, however long it takes. Must not keep others from writing. */
  snapshot<T>(work: (reader: UpkeepReader) => Promise<T>): Promise<T>

  /**
   * Writes a conversation back exactly as it was read: times, deadlines, wake-up and all; without a lease. All of it or nothing: also when `rows`
   * throws, which is thrown on. `exists` is told before any row is taken.
   */
  restoreConversation(
    tenant: string,
    conversation: RestoredConversation,
    rows: AsyncIterable<ConversationRow>,
  ): Promise<RestoreOutcome>
  /** A known blob keeps what it has, but for the greater number of pins. */
  restoreBlob(tenant: string, blob: RestoredBlob): Promise<void>
  /** False when there is one under this id; it is left as it is. */
  restoreSnapshot(tenant: string, id: string, snapshot: string): Promise<boolean>

  /**
   * Replaces what is derived from the log, in one transaction. Writes nothing when the log or the row is not what it was rebuilt from (`moved`), or while
   * somebody has a live lease (`held`), unless that is a quarantine.
   */
  rebuild(tenant: string, id: string, rebuilt: Rebuilt): Promise<'ok' | 'moved' | 'held'>

  /** Removes what nothing can reach any more, or only counts it. At most `limit` rows, so that it does not hold others up. */
  collect(request: CollectRequest): Promise<Collected>
  /** Gives back the room that removed rows took, where the backend does not do so by itself. */
  compact?(): Promise<void>

  /** Looks without changing anything. `found` is null where there is no store yet; `known` is what this version writes. */
  schema(): Promise<SchemaVersions>
  /** Brings the schema to `known`, as the first use of the store does. */
  migrate(): Promise<SchemaVersions>
}

export type SchemaVersions = { readonly found: number | null; readonly known: number }

/** All of a conversation's own row, but for what follows from its events and who works on it. */
export type RestoredConversation = Omit<StoredConversation, 'lastSeq' | 'quarantinedAt' | 'quarantineEpoch'> & {
  readonly childOf: string | null
  readonly wakeAt: number | null
  readonly isDormant: boolean
}

/** A row that belongs to a conversation. They come in the order of these types, and within a type in the order of their keys. */
export type ConversationRow =
  | { readonly type: 'event'; readonly row: StoredEvent }
  | { readonly type: 'call'; readonly row: StoredCall }
  | { readonly type: 'summary'; readonly row: StoredSummary }
  | { readonly type: 'key'; readonly row: StoredKey }
  /** By the bytes of `turnRef`, then as they were put. */
  | { readonly type: 'model_call'; readonly row: StoredModelCall & { readonly at: number } }
  | { readonly type: 'blob_ref'; readonly row: StoredBlobRef }

export type RestoreOutcome =
  | { readonly type: 'ok'; readonly seq: number }
  | { readonly type: 'exists' }
  /** A call of this id belongs to another conversation of the tenant. */
  | { readonly type: 'call_exists'; readonly callId: string }
  /** A row refers to a blob that the tenant does not have. */
  | { readonly type: 'blob_missing'; readonly hash: string }

export type RestoredBlob = {
  readonly hash: string
  readonly mediaType: string
  readonly pins: number
  readonly bytes: Uint8Array
}

/** What is absent stays as it is. */
export type Rebuilt = {
  /** As the reader gave them, of the row this was rebuilt from. */
  readonly expected: { readonly lastSeq: number; readonly updatedAt: number }
  readonly columns: {
    readonly kind?: StoredConversation['kind']
    readonly lastSeq?: number
    readonly status?: StoredConversation['status']
    readonly fsmState?: string | null
    readonly idleSeq?: number
    readonly title?: string | null
    readonly childOf?: string | null
    readonly wakeAt?: number
  }
  readonly putCalls: readonly StoredCall[]
  readonly removeCalls: readonly string[]
  readonly bases: readonly { readonly toSeq: number; readonly base: string }[]
  readonly putBlobRefs: readonly StoredBlobRef[]
  readonly removeBlobRefs: readonly string[]
}

/**
 * `model_calls`: audit rows older than `olderThanMs`. `blobs`: those nothing refers to and nobody pins. `pins`: all pins, so that the next
 * `blobs` finds what was uploaded and never sent; only while nothing is being sent. Of conversations that are gone: `derived_orphans`, the rows of calls and refs
 * to blobs; `orphans`, keys, summaries and audit rows, unless there are events left to which they may belong.
 */
export type CollectRequest = {
  readonly what: 'model_calls' | 'blobs' | 'pins' | 'orphans' | 'derived_orphans'
  readonly tenant: string | null
  readonly olderThanMs: number
  readonly limit: number
  readonly isDryRun: boolean
}

/** `bytes`: of the blobs. */
export type Collected = { readonly rows: number; readonly bytes: number }

/** Reads one moment of a whole store. Lists are in the order of the bytes of their ids, and are read in pages, whatever their length. */
export type UpkeepReader = {
  /** By the store's clock, when the moment was taken. */
  readonly now: number
  /** The greatest epoch that was ever given. */
  readonly lastEpoch: number
  /** Those that have anything. */
  tenants(): AsyncIterable<string>
  /** How many conversations there are, of one tenant or (null) of all. */
  count(tenant: string | null): Promise<number>
  conversations(tenant: string): AsyncIterable<UpkeepConversation>
  conversation(tenant: string, id: string): Promise<UpkeepConversation | null>
  rows(tenant: string, id: string): AsyncIterable<ConversationRow>
  /** The row of a call, whatever its conversation. */
  call(tenant: string, callId: string): Promise<StoredCall | null>
  /** Where its summaries end. */
  summarySeqs(tenant: string, id: string): Promise<number[]>
  blobs(tenant: string): AsyncIterable<BlobHead>
  blob(tenant: string, hash: string): Promise<BlobHead | null>
  /** Null when the bytes are not there. */
  blobBytes(tenant: string, hash: string): Promise<Uint8Array | null>
  /** Also those without a conversation. */
  snapshots(tenant: string): AsyncIterable<{ readonly id: string; readonly snapshot: string }>
  /** Rows whose conversation is gone, and refs whose blob is, counted by table and owner. `rows` does not give them. */
  orphans(): AsyncIterable<Orphans>
}

export type UpkeepConversation = RestoredConversation & {
  /** See `StoredAttrs`. */
  readonly idleSeq: number
  /** As the row has it. */
  readonly lastSeq: number
  /** As the row has them: all null when nobody works on it. */
  readonly leaseHolder: string | null
  readonly leaseEpoch: number | null
  readonly leaseUntil: number | null
  /** Null unless that lease is a quarantine. */
  readonly quarantinedAt: number | null
}

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
  /** What the rows name as their conversation: an id where the backend keeps it, else its own number. */
  readonly owner: string
  readonly count: number
}
