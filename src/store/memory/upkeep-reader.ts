import type { StoredCall } from '../driver.ts'
import type { ConversationRow as Row } from '../upkeep.ts'
import type { BlobHead, UpkeepConversation, UpkeepReader } from '../upkeep-reader.ts'
import { byteOrder } from './byte-order.ts'
import { type ConversationRow, type MemoryTables, quarantineOf, type TenantTables } from './memory-tables.ts'

/** Copies what may change, and shares the rows themselves: they are replaced, never changed. */
export function memoryReader(tables: MemoryTables, now: number): UpkeepReader {
  const moment = new Map(inOrder([...tables.tenants()]).map(([tenant, held]) => [tenant, copied(held)]))
  const { lastEpoch } = tables
  return {
    now,
    lastEpoch,
    async *tenants() {
      for (const [tenant, { conversations, blobs, snapshots }] of moment) {
        if (conversations.size + blobs.size + snapshots.size > 0) yield tenant
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
    async *orphans() {},
  }
}

type Copy = {
  readonly calls: ReadonlyMap<string, StoredCall>
  readonly conversations: ReadonlyMap<string, { readonly row: UpkeepConversation; rows(): Iterable<Row> }>
  readonly blobs: ReadonlyMap<string, { readonly head: BlobHead; readonly bytes: Uint8Array }>
  readonly snapshots: ReadonlyMap<string, string>
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
  const found = new Map<string, { hash: string; firstSeq: number }[]>()
  for (const [hash, { references }] of inOrder([...blobs])) {
    for (const [id, firstSeq] of references) {
      const refs = found.get(id)
      if (refs) refs.push({ hash, firstSeq })
      else found.set(id, [{ hash, firstSeq }])
    }
  }
  return found
}

function inOrder<Value>(entries: [string, Value][]): [string, Value][] {
  return entries.sort(([left], [right]) => byteOrder(left, right))
}
