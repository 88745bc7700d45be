import type { Clock } from '../../base/clock.ts'
import type { Collected, CollectRequest, Rebuilt, Upkeep } from '../upkeep.ts'
import {
  type BlobRow,
  type ConversationRow,
  isLeased,
  type MemoryTables,
  quarantineOf,
  type TenantTables,
} from './memory-tables.ts'
import { restoreConversation } from './restore-conversation.ts'
import { memoryReader } from './upkeep-reader.ts'

/** Every write runs in one go, which makes it atomic. */
export function memoryUpkeep(tables: MemoryTables, clock: Pick<Clock, 'now'>): Upkeep {
  return {
    snapshot: (work) => work(memoryReader(tables, clock.now())),
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
      // Rows lie inside their conversation, and go with it.
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
