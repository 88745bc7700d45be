import type { StoredCall } from './driver.ts'
import type { ConversationRow, RestoredConversation } from './upkeep.ts'

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
