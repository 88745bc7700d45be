import type { Clock } from '../../base/clock.ts'
import type { StoredCall } from '../driver.ts'
import type {
  BlobHead,
  Collected,
  CollectRequest,
  Rebuilt,
  RestoredConversation,
  RestoreOutcome,
  ConversationRow as Row,
  Upkeep,
  UpkeepConversation,
  UpkeepReader,
} from '../upkeep.ts'
import { figures } from './figures.ts'
import {
  type BlobRow,
  byteOrder,
  type ConversationRow,
  isLeased,
  type MemoryTables,
  newConversationRow,
  quarantineOf,
  type TenantTables,
} from './memory-tables.ts'

/** Every write runs synchronously, which makes it atomic. */
export function memoryUpkeep(tables: MemoryTables, clock: Pick<Clock, 'now'>): Upkeep {
  return {
    snapshot: (work) => work(memoryReader(tables, clock.now())),
    figures: async (windowMs) => figures(tables.tenants(), clock.now(), windowMs),
    restoreConversation: (tenant, conversation, rows) => restoreConversation(tables.tenant(tenant), conversation, rows),
    async restoreBlob(tenant, { hash, mediaType, pins, bytes }) {
      const { blobs } = tables.tenant(tenant)
      const known = blobs.get(hash)
      if (known) known.pins = Math.max(known.pins, pins)
      else blobs.set(hash, { bytes: new Uint8Array(bytes), mediaType, pins, references: new Map() })
    },
    async restoreSnapshot(tenant, id, snapshot) {
      const { snapshots } = tables.tenant(tenant)
      if (snapshots.has(id)) return false
      snapshots.set(id, snapshot)
      return true
    },
    async restoreTombstone(tenant, { id, at }) {
      const { tombstones } = tables.tenant(tenant)
      tombstones.set(id, Math.max(at, tombstones.get(id) ?? 0))
    },
    async rebuild(tenant, id, rebuilt) {
      return rebuild(tables.tenant(tenant), id, rebuilt, clock.now())
    },
    async collect(request) {
      const collected = { rows: 0, bytes: 0 }
      for (const [tenant, tenantTables] of tables.tenants()) {
        if (request.tenant !== null && request.tenant !== tenant) continue
        const rest = { ...request, limit: request.limit - collected.rows }
        const { rows, bytes } = collect(tenantTables, rest, clock.now())
        collected.rows += rows
        collected.bytes += bytes
      }
      return collected
    },
    async schema() {
      return { found: 1, known: 1 }
    },
    async migrate() {
      return { found: 1, known: 1 }
    },
  }
}

function rebuild(
  tables: TenantTables,
  id: string,
  { expected, columns, putCalls, removeCalls, bases, putBlobRefs, removeBlobRefs }: Rebuilt,
  now: number,
): 'ok' | 'moved' | 'held' {
  const row = tables.conversations.get(id)
  if (!row || row.events.length !== expected.lastSeq || row.columns.updatedAt !== expected.updatedAt) return 'moved'
  if (isLeased(row, now) && quarantineOf(row).quarantinedAt === null) return 'held'
  const { lastSeq: _, idleSeq, childOf, wakeAt, ...rest } = columns
  row.columns = { ...row.columns, ...rest }
  if (idleSeq !== undefined) row.idleSeq = idleSeq
  if (childOf !== undefined) row.childOf = childOf
  if (wakeAt !== undefined) row.wakeAt = wakeAt
  for (const callId of removeCalls) {
    row.callIds.delete(callId)
    tables.calls.delete(callId)
  }
  for (const call of putCalls) {
    row.callIds.add(call.id)
    tables.calls.set(call.id, call)
  }
  for (const { toSeq, base } of bases) {
    const summary = row.summaries.get(toSeq)
    if (summary) row.summaries.set(toSeq, { ...summary, base })
  }
  for (const { hash, firstSeq } of putBlobRefs) tables.blobs.get(hash)?.references.set(id, firstSeq)
  for (const hash of removeBlobRefs) tables.blobs.get(hash)?.references.delete(id)
  return 'ok'
}

function collect(tables: TenantTables, request: CollectRequest, now: number): Collected {
  switch (request.what) {
    case 'model_calls':
      return { rows: collectModelCalls(tables.conversations, request, now - request.olderThanMs), bytes: 0 }
    case 'blobs':
      return collectBlobs(tables.blobs, request)
    case 'pins':
      return { rows: collectPins(tables.blobs, request), bytes: 0 }
    case 'orphans':
    case 'derived_orphans':
      // Rows live inside their conversation and are deleted with it.
      return { rows: 0, bytes: 0 }
  }
}

function collectModelCalls(
  conversations: ReadonlyMap<string, ConversationRow>,
  { limit, isDryRun }: CollectRequest,
  before: number,
): number {
  let rows = 0
  for (const { modelCalls } of conversations.values()) {
    for (let index = modelCalls.length - 1; index >= 0 && rows < limit; index--) {
      if (modelCalls[index]!.at >= before) continue
      rows += 1
      if (!isDryRun) modelCalls.splice(index, 1)
    }
  }
  return rows
}

function collectBlobs(blobs: Map<string, BlobRow>, { limit, isDryRun }: CollectRequest): Collected {
  const doomed = [...blobs].filter(([, { pins, references }]) => pins === 0 && references.size === 0).slice(0, limit)
  if (!isDryRun) for (const [hash] of doomed) blobs.delete(hash)
  return { rows: doomed.length, bytes: doomed.reduce((sum, [, { bytes }]) => sum + bytes.byteLength, 0) }
}

function collectPins(blobs: Map<string, BlobRow>, { limit, isDryRun }: CollectRequest): number {
  const pinned = [...blobs.values()].filter(({ pins }) => pins > 0).slice(0, limit)
  if (!isDryRun) for (const blob of pinned) blob.pins = 0
  return pinned.length
}

/** Reads all rows first, so that it writes synchronously. */
async function restoreConversation(
  tables: TenantTables,
  conversation: RestoredConversation,
  rows: AsyncIterable<Row>,
): Promise<RestoreOutcome> {
  if (tables.conversations.has(conversation.id)) return { type: 'exists' }
  const allRows: Row[] = []
  for await (const row of rows) allRows.push(row)
  return write(tables, conversation, allRows)
}

function write(tables: TenantTables, conversation: RestoredConversation, rows: readonly Row[]): RestoreOutcome {
  const { childOf, wakeAt, isDormant } = conversation
  const columns = columnsOf(conversation)
  if (tables.conversations.has(columns.id)) return { type: 'exists' }
  for (const { type, row } of rows) {
    if (type === 'call' && tables.calls.has(row.id)) return { type: 'call_exists', callId: row.id }
    if (type === 'blob_ref' && !tables.blobs.has(row.hash)) return { type: 'blob_missing', hash: row.hash }
  }
  const copy = { ...newConversationRow(columns.id, 0), columns, childOf, wakeAt, isDormant }
  for (const { type, row } of rows) {
    switch (type) {
      case 'event':
        copy.events.push(row)
        break
      case 'call':
        copy.callIds.add(row.id)
        tables.calls.set(row.id, { ...row, conversationId: columns.id })
        break
      case 'summary':
        copy.summaries.set(row.toSeq, row)
        break
      case 'key':
        copy.keys.set(row.key, { seq: row.seq, digest: row.digest, epoch: null })
        break
      case 'model_call':
        copy.modelCalls.push(row)
        break
      case 'blob_ref':
        tables.blobs.get(row.hash)!.references.set(columns.id, row.firstSeq)
        break
    }
  }
  tables.conversations.set(columns.id, copy)
  return { type: 'ok', seq: copy.events.length }
}

/** Takes only known columns: the caller may pass more. */
function columnsOf(conversation: RestoredConversation): ConversationRow['columns'] {
  const { id, kind, agent, owner, status, settings, fsmState, title, parent, createdAt, updatedAt } = conversation
  return { id, kind, agent, owner, status, settings, fsmState, title, parent, createdAt, updatedAt }
}

/** Copies what may change, and shares the rows: they are replaced, never changed. */
function memoryReader(tables: MemoryTables, now: number): UpkeepReader {
  const moment = new Map(inOrder([...tables.tenants()]).map(([tenant, held]) => [tenant, copied(held)]))
  const { lastEpoch } = tables
  return {
    now,
    lastEpoch,
    async *tenants() {
      for (const [tenant, { conversations, blobs, snapshots, tombstones }] of moment) {
        if (conversations.size + blobs.size + snapshots.size + tombstones.size > 0) yield tenant
      }
    },
    async count(tenant) {
      const counted = tenant === null ? [...moment.values()] : [moment.get(tenant)]
      return counted.reduce((sum, held) => sum + (held?.conversations.size ?? 0), 0)
    },
    async *conversations(tenant) {
      for (const [, { row }] of moment.get(tenant)?.conversations ?? []) yield row
    },
    async conversation(tenant, id) {
      return moment.get(tenant)?.conversations.get(id)?.row ?? null
    },
    async *rows(tenant, id) {
      yield* moment.get(tenant)?.conversations.get(id)?.rows() ?? []
    },
    async call(tenant, callId) {
      return moment.get(tenant)?.calls.get(callId) ?? null
    },
    async summarySeqs(tenant, id) {
      const rows = [...(moment.get(tenant)?.conversations.get(id)?.rows() ?? [])]
      return rows.flatMap(({ type, row }) => (type === 'summary' ? [row.toSeq] : []))
    },
    async *blobs(tenant) {
      for (const [, { head }] of moment.get(tenant)?.blobs ?? []) yield head
    },
    async blob(tenant, hash) {
      return moment.get(tenant)?.blobs.get(hash)?.head ?? null
    },
    async blobBytes(tenant, hash) {
      return moment.get(tenant)?.blobs.get(hash)?.bytes ?? null
    },
    async *snapshots(tenant) {
      for (const [id, snapshot] of moment.get(tenant)?.snapshots ?? []) yield { id, snapshot }
    },
    async *tombstones(tenant) {
      for (const [id, at] of moment.get(tenant)?.tombstones ?? []) yield { id, at }
    },
    async *orphans() {},
  }
}

type Copy = {
  readonly calls: ReadonlyMap<string, StoredCall>
  readonly conversations: ReadonlyMap<string, { readonly row: UpkeepConversation; rows(): Iterable<Row> }>
  readonly blobs: ReadonlyMap<string, { readonly head: BlobHead; readonly bytes: Uint8Array }>
  readonly snapshots: ReadonlyMap<string, string>
  readonly tombstones: ReadonlyMap<string, number>
}

function copied(tables: TenantTables): Copy {
  const references = referencesOf(tables)
  return {
    calls: new Map(tables.calls),
    conversations: new Map(
      inOrder([...tables.conversations]).map(([id, row]) => [id, copiedRow(row, tables, references.get(id) ?? [])]),
    ),
    blobs: new Map(
      inOrder([...tables.blobs]).map(([hash, { mediaType, pins, references: from, bytes }]) => [
        hash,
        { head: { hash, mediaType, pins, references: from.size }, bytes },
      ]),
    ),
    snapshots: new Map(inOrder([...tables.snapshots])),
    tombstones: new Map(inOrder([...tables.tombstones])),
  }
}

function copiedRow(row: ConversationRow, { calls }: TenantTables, refs: readonly { hash: string; firstSeq: number }[]) {
  const { columns, idleSeq, childOf, wakeAt, isDormant, lease } = row
  const events = [...row.events]
  const ownCalls = inOrder([...row.callIds].map((callId) => [callId, calls.get(callId)!]))
  const summaries = [...row.summaries.values()].sort((left, right) => left.toSeq - right.toSeq)
  const keys = inOrder([...row.keys])
  const modelCalls = [...row.modelCalls].sort((left, right) => byteOrder(left.turnRef, right.turnRef))
  return {
    row: {
      ...columns,
      idleSeq,
      childOf,
      wakeAt,
      isDormant,
      lastSeq: events.length,
      leaseHolder: lease?.holder ?? null,
      leaseEpoch: lease?.epoch ?? null,
      leaseUntil: lease?.until ?? null,
      quarantinedAt: quarantineOf(row).quarantinedAt,
    },
    *rows(): Iterable<Row> {
      for (const event of events) yield { type: 'event', row: event }
      for (const [, call] of ownCalls) yield { type: 'call', row: call }
      for (const summary of summaries) yield { type: 'summary', row: summary }
      for (const [key, { seq, digest }] of keys) yield { type: 'key', row: { key, seq, digest } }
      for (const call of modelCalls) yield { type: 'model_call', row: call }
      for (const ref of refs) yield { type: 'blob_ref', row: ref }
    },
  }
}

/** By conversation, in the order of their hashes. */
function referencesOf({ blobs }: TenantTables): Map<string, { hash: string; firstSeq: number }[]> {
  const byConversation = new Map<string, { hash: string; firstSeq: number }[]>()
  for (const [hash, { references }] of inOrder([...blobs])) {
    for (const [id, firstSeq] of references) {
      const refs = byConversation.get(id)
      if (refs) refs.push({ hash, firstSeq })
      else byConversation.set(id, [{ hash, firstSeq }])
    }
  }
  return byConversation
}

function inOrder<Value>(entries: [string, Value][]): [string, Value][] {
  return entries.sort(([left], [right]) => byteOrder(left, right))
}
