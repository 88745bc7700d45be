import type { StoredCall, StoredEvent, StoredModelCall, StoredSummary } from '../../driver.ts'
import { forEachPage } from '../../log-pages.ts'
import type { ConversationRef } from '../../records.ts'
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
import { callColumns, conversationColumns, eventColumns, secondary, summaryColumns } from '../columns.ts'
import type { Query } from '../database.ts'

const pageSize = 100
/** Few, because each may have settings of a megabyte. */
const conversationsAtOnce = 20

/** Must be given a connection inside a transaction that sees one moment. */
export function postgresReader(
  query: Query,
  schema: string,
  moment: { readonly now: number; readonly lastEpoch: number },
): UpkeepReader {
  const statements = readerStatements(schema)
  /** The conversation listed last: a caller that walks the list asks about it next. */
  let latest: { readonly tenant: string; readonly row: Found } | null = null
  const find = async (tenant: string, id: string): Promise<Found | null> => {
    if (latest?.tenant === tenant && latest.row.id === id) return latest.row
    return (await query<Found>(statements.conversation, [tenant, id]))[0] ?? null
  }
  return {
    ...moment,
    async *tenants() {
      let last = ''
      for (;;) {
        const [next] = await query<{ tenant: string | null }>(statements.tenant, [last])
        if (next?.tenant == null) return
        last = next.tenant
        yield last
      }
    },
    async count(tenant) {
      return (await query<{ count: number }>(statements.count, [tenant]))[0]!.count
    },
    async *conversations(tenant) {
      const pages = forEachPage<Found>(conversationsAtOnce, (last) =>
        query(statements.conversations, [tenant, last?.id ?? '']),
      )
      for await (const row of pages) {
        latest = { tenant, row }
        yield conversationOf(row)
      }
    },
    async conversation(tenant, id) {
      const [row] = await query<Found>(statements.conversation, [tenant, id])
      return row ? conversationOf(row) : null
    },
    async *rows(tenant, id) {
      const found = await find(tenant, id)
      if (found) yield* rowsOf(query, schema, { tenant, id }, found)
    },
    async call(tenant, callId) {
      return (await query<StoredCall>(statements.call, [tenant, callId]))[0] ?? null
    },
    async summarySeqs(tenant, id) {
      if (!(await find(tenant, id))?.summaries) return []
      return (await query<{ toSeq: number }>(statements.summarySeqs, [tenant, id])).map(({ toSeq }) => toSeq)
    },
    blobs: (tenant) => forEachPage<BlobHead>(pageSize, (last) => query(statements.blobs, [tenant, last?.hash ?? ''])),
    async blob(tenant, hash) {
      return (await query<BlobHead>(statements.blob, [tenant, hash]))[0] ?? null
    },
    async blobBytes(tenant, hash) {
      const [row] = await query<{ bytes: Buffer }>(statements.bytes, [tenant, hash])
      return row ? new Uint8Array(row.bytes) : null
    },
    snapshots: (tenant) =>
      forEachPage(1, (last: { id: string; snapshot: string } | null) =>
        query(statements.snapshots, [tenant, last?.id ?? '']),
      ),
    tombstones: (tenant) =>
      forEachPage<Tombstone>(pageSize, (last) => query(statements.tombstones, [tenant, last?.id ?? ''])),
    async *orphans() {
      for (const [table, statement] of statements.orphans) {
        for (const { owner, count } of await query<{ owner: string; count: number }>(statement, [])) {
          yield { table, owner, count }
        }
      }
    },
  }
}

type Found = UpkeepConversation & Tables

function conversationOf({ events, calls, summaries, keys, modelCalls, refs, ...row }: Found): UpkeepConversation {
  return row
}

function readerStatements(schema: string) {
  const blobColumns = `b.hash, b.media_type AS "mediaType", b.pins, (SELECT count(*) FROM ${schema}.blob_refs r
    WHERE r.tenant ${secondary} = b.tenant AND r.hash = b.hash) AS "references"`
  const wholeColumns = `${conversationColumns}, idle_seq AS "idleSeq", child_of AS "childOf", wake_at AS "wakeAt", is_dormant AS "isDormant",
    holder AS "leaseHolder", epoch AS "leaseEpoch", leased_until AS "leaseUntil", ${tablesWithRows(schema)}`
  return {
    tenant: {
      name: 'upkeep_tenant',
      text: `SELECT min(t.tenant) AS tenant FROM (
          (SELECT tenant FROM ${schema}.conversations WHERE tenant > $1 ORDER BY tenant, id LIMIT 1)
          UNION ALL (SELECT tenant FROM ${schema}.blobs WHERE tenant > $1 ORDER BY tenant, hash LIMIT 1)
          UNION ALL (SELECT tenant FROM ${schema}.snapshots WHERE tenant > $1 ORDER BY tenant, id LIMIT 1)
          UNION ALL (SELECT tenant FROM ${schema}.tombstones WHERE tenant > $1 ORDER BY tenant, id LIMIT 1)
        ) t`,
    },
    count: {
      name: 'upkeep_count',
      text: `SELECT count(*) AS count FROM ${schema}.conversations WHERE tenant = coalesce($1, tenant)`,
    },
    conversations: {
      name: 'upkeep_conversations',
      text: `SELECT ${wholeColumns} FROM ${schema}.conversations c WHERE tenant = $1 AND id > $2 ORDER BY id LIMIT ${conversationsAtOnce}`,
    },
    conversation: {
      name: 'upkeep_conversation',
      text: `SELECT ${wholeColumns} FROM ${schema}.conversations c WHERE tenant = $1 AND id = $2`,
    },
    call: {
      name: 'upkeep_call',
      text: `SELECT ${callColumns} FROM ${schema}.calls t WHERE t.tenant = $1 AND t.id = $2`,
    },
    summarySeqs: {
      name: 'upkeep_summary_seqs',
      text: `SELECT to_seq AS "toSeq" FROM ${schema}.summaries WHERE tenant = $1 AND conversation_id = $2 ORDER BY to_seq`,
    },
    blobs: {
      name: 'upkeep_blobs',
      text: `SELECT ${blobColumns} FROM ${schema}.blobs b WHERE b.tenant = $1 AND b.hash > $2 ORDER BY b.hash LIMIT ${pageSize}`,
    },
    blob: {
      name: 'upkeep_blob',
      text: `SELECT ${blobColumns} FROM ${schema}.blobs b WHERE b.tenant = $1 AND b.hash = $2`,
    },
    bytes: { name: 'upkeep_bytes', text: `SELECT bytes FROM ${schema}.blobs WHERE tenant = $1 AND hash = $2` },
    snapshots: {
      name: 'upkeep_snapshots',
      text: `SELECT id, snapshot FROM ${schema}.snapshots WHERE tenant = $1 AND id > $2 ORDER BY id LIMIT 1`,
    },
    tombstones: {
      name: 'upkeep_tombstones',
      text: `SELECT id, at FROM ${schema}.tombstones WHERE tenant = $1 AND id > $2 ORDER BY id LIMIT ${pageSize}`,
    },
    orphans: orphanTables.map(
      ([type, table]) =>
        [
          type,
          {
            name: `upkeep_orphans_${table}`,
            text: `SELECT t.tenant || '/' || t.conversation_id AS owner, count(*) AS count FROM ${schema}.${table} t
              WHERE ${isOrphan(schema, type)} GROUP BY t.tenant, t.conversation_id ORDER BY 1`,
            timeoutMs: 0,
          },
        ] as const,
    ),
  }
}

const orphanTables = [
  ['event', 'events'],
  ['call', 'calls'],
  ['summary', 'summaries'],
  ['key', 'commit_keys'],
  ['model_call', 'model_calls'],
  ['blob_ref', 'blob_refs'],
] as const

/** For a row under the alias t. */
export function isOrphan(schema: string, type: Orphans['table']): string {
  const isGone = `NOT EXISTS (SELECT 1 FROM ${schema}.conversations c WHERE c.tenant = t.tenant AND c.id = t.conversation_id)`
  if (type !== 'blob_ref') return isGone
  return `(${isGone} OR NOT EXISTS (SELECT 1 FROM ${schema}.blobs b WHERE b.tenant = t.tenant AND b.hash = t.hash))`
}

/** Small enough that a page of the largest possible rows fits into memory. */
const pageSizes = { events: 20, calls: 20, summaries: 4, keys: 200, modelCalls: 4, refs: 200 }

/** The tables that have rows of a conversation. */
type Tables = { readonly [Name in keyof typeof pageSizes]: boolean }

/** Everything that belongs to one conversation. */
async function* rowsOf(
  query: Query,
  schema: string,
  { tenant, id }: ConversationRef,
  has: Tables,
): AsyncGenerator<ConversationRow> {
  const page = <Row>(
    name: keyof typeof pageSizes,
    sql: string,
    after: (last: Row | null) => readonly unknown[],
  ): AsyncGenerator<Row> => {
    const limit = pageSizes[name]
    const statement = { name: `upkeep_${name}_of`, text: `${sql} LIMIT ${limit}` }
    return forEachPage<Row>(limit, (last) => query(statement, [tenant, id, ...after(last)]))
  }
  const events = page<StoredEvent>(
    'events',
    `SELECT ${eventColumns} FROM ${schema}.events WHERE tenant = $1 AND conversation_id = $2 AND seq > $3 ORDER BY seq`,
    (last) => [last?.seq ?? Number.MIN_SAFE_INTEGER],
  )
  if (has.events) for await (const row of events) yield { type: 'event', row }

  const calls = page<StoredCall>(
    'calls',
    `SELECT ${callColumns} FROM ${schema}.calls t
     WHERE t.tenant ${secondary} = $1 AND t.conversation_id = $2 AND t.id > $3 ORDER BY t.id`,
    (last) => [last?.id ?? ''],
  )
  if (has.calls) for await (const row of calls) yield { type: 'call', row }

  const summaries = page<StoredSummary>(
    'summaries',
    `SELECT ${summaryColumns} FROM ${schema}.summaries
     WHERE tenant = $1 AND conversation_id = $2 AND to_seq > $3 ORDER BY to_seq`,
    (last) => [last?.toSeq ?? Number.MIN_SAFE_INTEGER],
  )
  if (has.summaries) for await (const row of summaries) yield { type: 'summary', row }

  const keys = page<StoredKey>(
    'keys',
    `SELECT key, seq, digest FROM ${schema}.commit_keys WHERE tenant = $1 AND conversation_id = $2 AND key > $3 ORDER BY key`,
    (last) => [last?.key ?? ''],
  )
  if (has.keys) for await (const row of keys) yield { type: 'key', row }

  const modelCalls = page<StoredModelCall & { at: number; number: number }>(
    'modelCalls',
    `SELECT number, turn_ref AS "turnRef", rendered_context AS "renderedContext", model, usage, latency_ms AS "latencyMs", status,
       summary_version AS "summaryVersion", evictions, meta, at FROM ${schema}.model_calls
     WHERE tenant = $1 AND conversation_id = $2 AND (turn_ref, number) > ($3::text, $4::bigint) ORDER BY turn_ref, number`,
    (last) => [last?.turnRef ?? '', last?.number ?? 0],
  )
  if (has.modelCalls) {
    for await (const { number: _, ...row } of modelCalls) yield { type: 'model_call', row }
  }

  const refs = page<StoredBlobRef>(
    'refs',
    `SELECT r.hash, r.first_seq AS "firstSeq" FROM ${schema}.blob_refs r
     WHERE r.tenant = $1 AND r.conversation_id = $2 AND r.hash > $3
       AND EXISTS (SELECT 1 FROM ${schema}.blobs b WHERE b.tenant = r.tenant AND b.hash = r.hash) ORDER BY r.hash`,
    (last) => [last?.hash ?? ''],
  )
  if (has.refs) for await (const row of refs) yield { type: 'blob_ref', row }
}

/** One column per table, for a conversation under the alias c: most conversations have rows in few tables, and each further query is a round trip. */
function tablesWithRows(schema: string): string {
  const has = (table: string, name: keyof Tables, mark = ''): string =>
    `EXISTS (SELECT 1 FROM ${schema}.${table} t WHERE t.tenant ${mark} = c.tenant AND t.conversation_id = c.id) AS "${name}"`
  return [
    has('events', 'events'),
    has('calls', 'calls', secondary),
    has('summaries', 'summaries'),
    has('commit_keys', 'keys'),
    has('model_calls', 'modelCalls'),
    has('blob_refs', 'refs'),
  ].join(', ')
}
