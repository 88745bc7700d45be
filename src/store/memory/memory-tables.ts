import type { StoredCall, StoredConversation, StoredEvent, StoredModelCall, StoredSummary } from '../driver.ts'
import { quarantineHolder, quarantineUntil, type StoredLease } from '../lease.ts'

/** The data of a memory store: the same text that other backends keep in tables. */
export class MemoryTables {
  readonly #tenants = new Map<string, TenantTables>()
  #lastEpoch = 0

  tenant(name: string): TenantTables {
    const known = this.#tenants.get(name)
    if (known) return known
    const tables = emptyTables(new Map())
    this.#tenants.set(name, tables)
    return tables
  }

  tenants(): Iterable<[string, TenantTables]> {
    return this.#tenants
  }

  /** The record of freed ids stays. */
  deleteTenant(name: string): void {
    this.#tenants.set(name, emptyTables(this.tenant(name).freed))
  }

  get lastEpoch(): number {
    return this.#lastEpoch
  }

  nextEpoch(): number {
    this.#lastEpoch += 1
    return this.#lastEpoch
  }
}

export type TenantTables = {
  readonly conversations: Map<string, ConversationRow>
  readonly calls: Map<string, StoredCall>
  readonly blobs: Map<string, BlobRow>
  readonly snapshots: Map<string, string>
  /** Ids of deleted conversations, with the time of their last event: see `freeId`. */
  readonly freed: Map<string, number>
}

function emptyTables(freed: TenantTables['freed']): TenantTables {
  return { conversations: new Map(), calls: new Map(), blobs: new Map(), snapshots: new Map(), freed }
}

export type ConversationRow = {
  /** `lastSeq` is the number of events. */
  columns: Omit<StoredConversation, 'lastSeq' | 'quarantinedAt' | 'quarantineEpoch'>
  idleSeq: number
  childOf: string | null
  wakeAt: number | null
  /** A fork that has not been used yet: an expiry in it does not wake it. */
  isDormant: boolean
  lease: StoredLease | null
  readonly events: StoredEvent[]
  /** `epoch`: of the lease that was taken with the change. */
  readonly keys: Map<string, { readonly seq: number; readonly digest: string | null; readonly epoch: number | null }>
  readonly callIds: Set<string>
  readonly summaries: Map<number, StoredSummary>
  readonly modelCalls: (StoredModelCall & { at: number })[]
}

export type BlobRow = {
  readonly bytes: Uint8Array
  readonly mediaType: string
  pins: number
  /** The conversations that refer to it, with the `seq` of the first event that does. */
  readonly references: Map<string, number>
}

/** Since when it is quarantined, and under which epoch. */
export function quarantineOf({
  lease,
}: ConversationRow): Pick<StoredConversation, 'quarantinedAt' | 'quarantineEpoch'> {
  const isQuarantined = lease?.holder === quarantineHolder && lease.until === quarantineUntil
  return isQuarantined
    ? { quarantinedAt: lease.claimedAt, quarantineEpoch: lease.epoch }
    : { quarantinedAt: null, quarantineEpoch: null }
}

export function isLeased({ lease }: ConversationRow, now: number): boolean {
  return lease !== null && lease.until > now
}

export function newConversationRow(id: string, now: number): ConversationRow {
  return {
    columns: {
      id,
      kind: 'conversation',
      agent: null,
      status: 'idle',
      settings: '{}',
      fsmState: null,
      title: null,
      parent: null,
      createdAt: now,
      updatedAt: now,
    },
    idleSeq: 0,
    childOf: null,
    wakeAt: null,
    isDormant: false,
    lease: null,
    events: [],
    keys: new Map(),
    callIds: new Set(),
    summaries: new Map(),
    modelCalls: [],
  }
}

/** The order of UTF-8 bytes, as databases compare; JavaScript's own order differs past U+FFFF. */
export function byteOrder(left: string, right: string): number {
  if (left === right) return 0
  return Buffer.compare(Buffer.from(left), Buffer.from(right))
}

/** Remembers when a deleted conversation ended, until the clock has moved on. */
export function freeId({ freed }: TenantTables, { columns, events }: ConversationRow, now: number): void {
  for (const [id, at] of freed) if (at < now) freed.delete(id)
  freed.set(columns.id, events.at(-1)?.at ?? 0)
}

/** The time for new events: under a freed id it must be later than that of the deleted conversation, even within the same millisecond. */
export function eventTime({ freed }: TenantTables, id: string, now: number): number {
  return Math.max(now, 1 + (freed.get(id) ?? Number.NEGATIVE_INFINITY))
}
