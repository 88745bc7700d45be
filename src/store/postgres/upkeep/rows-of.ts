import type { ConversationRef } from '../../conversation-record.ts'
import type { StoredCall, StoredEvent, StoredModelCall, StoredSummary } from '../../driver.ts'
import { pageThrough } from '../../page-through.ts'
import type { ConversationRow } from '../../upkeep.ts'
import type { StoredBlobRef, StoredKey } from '../../upkeep-reader.ts'
import { callColumns, eventColumns, summaryColumns } from '../columns.ts'
import type { Query } from '../database.ts'
import { secondary } from '../sql-names.ts'

/** Few enough that the largest rows there can be are not too much at once. */
const pageSizes = { events: 50, calls: 50, summaries: 4, keys: 200, modelCalls: 8, refs: 200 }

/** Which tables have rows of a conversation. */
export type Tables = { readonly [Name in keyof typeof pageSizes]: boolean }

/** Everything that belongs to one conversation. */
export async function* rowsOf(
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
    return pageThrough<Row>(limit, (last) => query(statement, [tenant, id, ...after(last)]))
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
       summary_version AS "summaryVersion", evictions, at FROM ${schema}.model_calls
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

/** Columns that say so, for a conversation under the alias c: most have rows in few tables, and each question is a round trip. */
export function tablesWithRows(schema: string): string {
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
