import type { SQLInputValue } from 'node:sqlite'
import type { StoredEvent, StoredModelCall, StoredSummary } from '../../driver.ts'
import { forEachPage } from '../../log-pages.ts'
import type {
  BlobHead,
  ConversationRow,
  Orphans,
  StoredBlobRef,
  StoredKey,
  Tombstone,
  UpkeepConversation,
  UpkeepReader,
} from '../../upkeep.ts'
import { recordColumns } from '../columns.ts'
import type { Database } from '../database.ts'
import { callsOfConversation, getCall } from '../events.ts'

const pageSize = 100

/** Must be given a connection inside a transaction, which it keeps. The snapshot is taken by the first read, which is made here. */
export function sqliteReader(db: Database): UpkeepReader {
  const { epoch } = db.get<{ epoch: number }>("SELECT value AS epoch FROM meta WHERE name = 'epoch'")!
  return {
    now: Date.now(),
    lastEpoch: epoch,
    tenants: () => tenants(db),
    async count(tenant) {
      const sql = 'SELECT count(*) AS count FROM conversations WHERE tenant = coalesce(?, tenant)'
      return db.get<{ count: number }>(sql, tenant)!.count
    },
    conversations: (tenant) =>
      forEachPage<UpkeepConversation>(pageSizes.conversations, (last) =>
        db
          .all<ConversationRecord>(
            `SELECT ${conversationColumns} FROM conversations INDEXED BY conversations_by_id
             WHERE tenant = ? AND id > ? ORDER BY id LIMIT ?`,
            ...[tenant, last?.id ?? '', pageSizes.conversations],
          )
          .map(conversationOf),
      ),
    async conversation(tenant, id) {
      const sql = `SELECT ${conversationColumns} FROM conversations WHERE tenant = ? AND id = ?`
      const row = db.get<ConversationRecord>(sql, tenant, id)
      return row ? conversationOf(row) : null
    },
    rows: (tenant, id) => rowsOf(db, tenant, id),
    call: async (tenant, callId) => getCall(db, tenant, callId),
    async summarySeqs(tenant, id) {
      const sql = `SELECT to_seq AS toSeq FROM summaries
        WHERE cid = (SELECT cid FROM conversations WHERE tenant = ? AND id = ?) ORDER BY to_seq`
      return db.all<{ toSeq: number }>(sql, tenant, id).map(({ toSeq }) => toSeq)
    },
    blobs: (tenant) =>
      forEachPage<BlobHead>(pageSize, (last) =>
        db.all(
          `SELECT ${blobColumns} FROM blobs WHERE tenant = ? AND hash > ? ORDER BY hash LIMIT ?`,
          ...[tenant, last?.hash ?? '', pageSize],
        ),
      ),
    async blob(tenant, hash) {
      return db.get<BlobHead>(`SELECT ${blobColumns} FROM blobs WHERE tenant = ? AND hash = ?`, tenant, hash) ?? null
    },
    async blobBytes(tenant, hash) {
      const sql = 'SELECT bytes FROM blobs JOIN blob_bytes USING (bid) WHERE tenant = ? AND hash = ?'
      return db.get<{ bytes: Uint8Array }>(sql, tenant, hash)?.bytes ?? null
    },
    snapshots: (tenant) =>
      forEachPage(1, (last: { id: string; snapshot: string } | null) =>
        db.all(
          'SELECT id, snapshot FROM snapshots WHERE tenant = ? AND id > ? ORDER BY id LIMIT 1',
          tenant,
          last?.id ?? '',
        ),
      ),
    tombstones: (tenant) =>
      forEachPage<Tombstone>(pageSize, (last) =>
        db.all(
          'SELECT id, at FROM tombstones WHERE tenant = ? AND id > ? ORDER BY id LIMIT ?',
          ...[tenant, last?.id ?? '', pageSize],
        ),
      ),
    orphans: () => orphans(db),
  }
}

type ConversationRecord = Omit<UpkeepConversation, 'isDormant'> & { readonly dormant: number }

const conversationColumns = `${recordColumns}, idle_seq AS idleSeq, child_of AS childOf, wake_at AS wakeAt, dormant, lease_holder AS leaseHolder,
  lease_epoch AS leaseEpoch, lease_until AS leaseUntil`

const blobColumns = `hash, media_type AS mediaType, pins,
  (SELECT count(*) FROM blob_refs WHERE blob_refs.bid = blobs.bid) AS "references"`

function conversationOf({ dormant, ...row }: ConversationRecord): UpkeepConversation {
  return { ...row, isDormant: dormant !== 0 }
}

/** One index lookup for each tenant. */
async function* tenants(db: Database): AsyncGenerator<string> {
  let last = ''
  for (;;) {
    const next = db.get<{ tenant: string | null }>(
      `SELECT min(tenant) AS tenant FROM (
         SELECT min(tenant) AS tenant FROM conversations WHERE tenant > ?
         UNION ALL SELECT min(tenant) FROM blobs WHERE tenant > ?
         UNION ALL SELECT min(tenant) FROM snapshots WHERE tenant > ?
         UNION ALL SELECT min(tenant) FROM tombstones WHERE tenant > ?)`,
      ...[last, last, last, last],
    )
    if (next?.tenant == null) return
    last = next.tenant
    yield last
  }
}

const isGone = 'cid NOT IN (SELECT cid FROM conversations)'
/** Event rows with `cid` 0 are placeholders: see `keepOrder`. */
const tables = [
  ['event', 'events', `cid <> 0 AND ${isGone}`],
  ['call', 'calls', isGone],
  ['summary', 'summaries', isGone],
  ['key', 'keys', isGone],
  ['model_call', 'model_calls', isGone],
  ['blob_ref', 'blob_refs', `(${isGone} OR bid NOT IN (SELECT bid FROM blobs))`],
] as const

async function* orphans(db: Database): AsyncGenerator<Orphans> {
  for (const [type, table, condition] of tables) {
    const found = forEachPage<{ cid: number; count: number }>(pageSize, (last) =>
      db.all(
        `SELECT cid, count(*) AS count FROM ${table}
         WHERE cid > ? AND ${condition} GROUP BY cid ORDER BY cid LIMIT ?`,
        ...[last?.cid ?? Number.MIN_SAFE_INTEGER, pageSize],
      ),
    )
    for await (const { cid, count } of found) yield { table: type, owner: String(cid), count }
  }
}

/** Small enough that pages of the largest possible rows fit into memory, for each of the operators' jobs that run at once. */
const pageSizes = { conversations: 10, events: 10, calls: 10, summaries: 2, keys: 200, modelCalls: 2, refs: 200 }

/** Everything that belongs to one conversation. */
async function* rowsOf(db: Database, tenant: string, id: string): AsyncGenerator<ConversationRow> {
  const head = db.get<{ cid: number }>('SELECT cid FROM conversations WHERE tenant = ? AND id = ?', tenant, id)
  if (!head) return
  const { cid } = head
  const page = <Row>(limit: number, sql: string, after: (last: Row | null) => SQLInputValue[]) =>
    forEachPage<Row>(limit, (last) => db.all(`${sql} LIMIT ${limit}`, cid, ...after(last)))

  const events = page<StoredEvent>(
    pageSizes.events,
    'SELECT seq, at, type, content FROM events WHERE cid = ? AND seq > ? ORDER BY seq',
    (last) => [last?.seq ?? Number.MIN_SAFE_INTEGER],
  )
  for await (const { seq, at, type, content } of events) yield { type: 'event', row: { seq, at, type, content } }

  const calls = forEachPage(pageSizes.calls, (last: { id: string } | null) =>
    callsOfConversation(db, cid, last?.id ?? '', pageSizes.calls),
  )
  for await (const row of calls) yield { type: 'call', row: { ...row, conversationId: id } }

  const summaries = page<StoredSummary>(
    pageSizes.summaries,
    `SELECT from_seq AS fromSeq, to_seq AS toSeq, content, version, base FROM summaries
     WHERE cid = ? AND to_seq > ? ORDER BY to_seq`,
    (last) => [last?.toSeq ?? Number.MIN_SAFE_INTEGER],
  )
  for await (const row of summaries) yield { type: 'summary', row }

  const keys = page<StoredKey>(
    pageSizes.keys,
    'SELECT key, seq, digest FROM keys WHERE cid = ? AND key > ? ORDER BY key',
    (last) => [last?.key ?? ''],
  )
  for await (const row of keys) yield { type: 'key', row }

  const modelCalls = page<StoredModelCall & { at: number; number: number }>(
    pageSizes.modelCalls,
    `SELECT id AS number, turn_ref AS turnRef, rendered_context AS renderedContext, model, usage, latency_ms AS latencyMs, status,
     summary_version AS summaryVersion, evictions, meta, at FROM model_calls WHERE cid = ? AND (turn_ref, id) > (?, ?) ORDER BY turn_ref, id`,
    (last) => [last?.turnRef ?? '', last?.number ?? 0],
  )
  for await (const { number: _, ...row } of modelCalls) yield { type: 'model_call', row }

  const refs = page<StoredBlobRef>(
    pageSizes.refs,
    `SELECT hash, first_seq AS firstSeq FROM blob_refs JOIN blobs USING (bid) WHERE cid = ? AND hash > ? ORDER BY hash`,
    (last) => [last?.hash ?? ''],
  )
  for await (const row of refs) yield { type: 'blob_ref', row }
}
