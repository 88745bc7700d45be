import type {
  ForkOutcome,
  ForkRequest,
  StoredCall,
  StoredConversation,
  StoredEvent,
  StoredModelCall,
  StoredSummary,
} from '../driver.ts'
import { type ClockChange, longestLease, quarantineHolder, quarantineUntil, type StoredLease } from '../lease.ts'
import type { Subscription } from '../outbox.ts'
import { planFork } from '../plan-fork.ts'
import type { StoredPause } from '../steering.ts'

/** The data of a memory store: the same text that other backends keep in tables. */
export class MemoryTables {
  readonly #tenants = new Map<string, TenantTables>()
  readonly subscribers = new Map<string, Subscription & { readonly claimedAt: number }>()
  readonly pauses = new Map<string, StoredPause>()
  #lastEpoch = 0

  tenant(name: string): TenantTables {
    const known = this.#tenants.get(name)
    if (known) return known
    const tables = emptyTables(new Map(), new Map())
    this.#tenants.set(name, tables)
    return tables
  }

  tenants(): Iterable<[string, TenantTables]> {
    return this.#tenants
  }

  /** The record of freed ids stays, and the tombstones. */
  deleteTenant(name: string): void {
    const { freed, tombstones } = this.tenant(name)
    this.#tenants.set(name, emptyTables(freed, tombstones))
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
  /** Ids that were deleted, with when. */
  readonly tombstones: Map<string, number>
}

function emptyTables(freed: TenantTables['freed'], tombstones: TenantTables['tombstones']): TenantTables {
  return { conversations: new Map(), calls: new Map(), blobs: new Map(), snapshots: new Map(), freed, tombstones }
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
  /** Its open turn is being cancelled: limits do not keep it from being claimed. */
  isTerminating: boolean
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
      owner: null,
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
    isTerminating: false,
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

/** Repairs leases and wake-ups that a clock which was ahead has written: see `Driver.dueWork`. */
export function repairAfterClockChange(
  tables: MemoryTables,
  now: number,
  news: ClockChange,
  leaseMs: number | undefined,
): void {
  for (const [, { conversations }] of tables.tenants())
    for (const row of conversations.values()) repairRow(row, now, news, leaseMs)
}

function repairRow(row: ConversationRow, now: number, news: ClockChange, leaseMs: number | undefined): void {
  const { lease, wakeAt, columns } = row
  const isHeld = lease !== null && lease.until > now && quarantineOf(row).quarantinedAt === null
  const until = leaseMs === undefined ? Number.POSITIVE_INFINITY : now + longestLease(leaseMs)
  const isTooLong = isHeld && lease.until > until
  const wasDue = wakeAt !== null && (wakeAt <= columns.updatedAt || isTooLong || (isHeld && news === 'back'))
  if (wasDue && wakeAt > now) row.wakeAt = now
  if (isTooLong) row.lease = { ...lease, until }
}

export function forkConversation(
  tables: TenantTables,
  id: string,
  newId: string,
  { at, agent, owner }: ForkRequest,
  now: number,
  newCallId: () => string,
): ForkOutcome {
  const source = tables.conversations.get(id)
  if (!source) return 'missing'
  if (tables.conversations.has(newId)) return 'exists'
  const lastSeq = source.events.length
  const end = at ?? lastSeq
  if (end > lastSeq) return { pastEnd: lastSeq }
  const summaries = [...source.summaries.values()].filter((summary) => summary.toSeq <= end)
  const summary = summaries.reduce<(typeof summaries)[number] | null>(
    (latest, candidate) => (latest && latest.toSeq > candidate.toSeq ? latest : candidate),
    null,
  )
  const plan = planFork(
    {
      conversation: { ...source.columns, lastSeq, ...quarantineOf(source) },
      summary,
      events: source.events.slice(summary?.toSeq ?? 0, end),
      pending: [...source.callIds]
        .map((callId) => tables.calls.get(callId)!)
        .filter((call) => call.status === 'pending'),
      at: end,
      agent,
      owner,
    },
    newId,
    newCallId,
  )
  const copy: ConversationRow = newConversationRow(newId, now)
  copy.columns = { ...copy.columns, ...plan.conversation }
  copy.isDormant = true
  copy.events.push(...source.events.slice(0, end))
  for (const { seq, content } of plan.replaced) copy.events[seq - 1] = { ...copy.events[seq - 1]!, content }
  for (const event of plan.appended) copy.events.push({ ...event, seq: copy.events.length + 1, at: now })
  for (const kept of summaries) copy.summaries.set(kept.toSeq, kept)
  for (const call of plan.calls) {
    copy.callIds.add(call.id)
    tables.calls.set(call.id, call)
  }
  for (const { references } of tables.blobs.values()) {
    const firstSeq = references.get(id)
    if (firstSeq !== undefined && firstSeq <= end) references.set(newId, firstSeq)
  }
  tables.conversations.set(newId, copy)
  return 'ok'
}

/** Deletes a conversation with its child agents; returns how many conversations were removed. */
export function deleteConversation(tables: TenantTables, id: string, now: number): number {
  tables.snapshots.delete(id)
  tables.tombstones.set(id, now)
  const row = tables.conversations.get(id)
  if (!row) return 0
  tables.conversations.delete(id)
  freeId(tables, row, now)
  for (const callId of row.callIds) tables.calls.delete(callId)
  for (const [hash, blob] of tables.blobs) {
    if (blob.references.delete(id) && blob.references.size === 0 && blob.pins === 0) tables.blobs.delete(hash)
  }
  const children = [...tables.conversations.values()].filter((candidate) => candidate.childOf === id)
  return children.reduce((count, child) => count + deleteConversation(tables, child.columns.id, now), 1)
}
