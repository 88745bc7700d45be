import type { StoredCall, StoredConversation, StoredEvent, StoredModelCall, StoredSummary } from './driver.ts'
import type { StoredBlobRef, StoredKey, UpkeepReader } from './upkeep-reader.ts'

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
