import type { SQLInputValue } from 'node:sqlite'
import type { StoredEvent, StoredModelCall, StoredSummary } from '../../driver.ts'
import { pageThrough } from '../../page-through.ts'
import type { ConversationRow } from '../../upkeep.ts'
import type { StoredBlobRef, StoredKey } from '../../upkeep-reader.ts'
import { callsOfConversation } from '../calls.ts'
import type { Database } from '../database.ts'

/** Few enough that the largest rows there can be are not too much at once. */
const pageSizes = { events: 50, calls: 50, summaries: 2, keys: 200, modelCalls: 2, refs: 200 }

/** Everything that belongs to one conversation. */
export async function* rowsOf(db: Database, tenant: string, id: string): AsyncGenerator<ConversationRow> {
  const head = db.get<{ cid: number }>('SELECT cid FROM conversations WHERE tenant = ? AND id = ?', tenant, id)
  if (!head) return
  const { cid } = head
  const page = <Row>(limit: number, sql: string, after: (last: Row | null) => SQLInputValue[]) =>
    pageThrough<Row>(limit, (last) => db.all(`${sql} LIMIT ${limit}`, cid, ...after(last)))

  const events = page<StoredEvent>(
    pageSizes.events,
    'SELECT seq, at, type, content FROM events WHERE cid = ? AND seq > ? ORDER BY seq',
    (last) => [last?.seq ?? Number.MIN_SAFE_INTEGER],
  )
  for await (const { seq, at, type, content } of events) yield { type: 'event', row: { seq, at, type, content } }

  const calls = pageThrough(pageSizes.calls, (last: { id: string } | null) =>
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
     summary_version AS summaryVersion, evictions, at FROM model_calls WHERE cid = ? AND (turn_ref, id) > (?, ?) ORDER BY turn_ref, id`,
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
