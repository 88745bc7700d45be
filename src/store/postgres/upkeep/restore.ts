import type { ConversationRef } from '../../records.ts'
import { rowSize } from '../../rows.ts'
import type { ConversationRow, RestoredConversation, RestoreOutcome } from '../../upkeep.ts'
import { arrayLiteral } from '../columns.ts'
import type { Query } from '../database.ts'
import { writeNoOutbox } from '../outbox-tables.ts'

const batchRows = 500
const batchCharacters = 2 * 1024 * 1024

/** Must run inside a transaction, which must be rolled back unless the outcome is ok. */
export async function restoreConversation(
  query: Query,
  schema: string,
  tenant: string,
  conversation: RestoredConversation,
  rows: AsyncIterable<ConversationRow>,
): Promise<RestoreOutcome> {
  if (!(await insertConversation(query, schema, tenant, conversation))) return { type: 'exists' }
  let seq = 0
  let pending: ConversationRow[] = []
  let size = 0
  const flush = async (): Promise<RestoreOutcome | null> => {
    const type = pending[0]?.type
    const batch = { type, rows: pending.map(({ row }) => row) } as Batch
    pending = []
    size = 0
    return type === undefined ? null : restoreBatch(query, schema, { tenant, id: conversation.id }, batch)
  }
  for await (const row of rows) {
    const isFull = pending.length >= batchRows || size > batchCharacters
    if (isFull || (pending.length > 0 && pending[0]!.type !== row.type)) {
      const refusal = await flush()
      if (refusal) return refusal
    }
    pending.push(row)
    size += rowSize(row)
    if (row.type === 'event') seq = row.row.seq
  }
  const refusal = await flush()
  if (refusal) return refusal
  const setSeq = {
    name: 'upkeep_set_seq',
    text: `UPDATE ${schema}.conversations SET last_seq = $3 WHERE tenant = $1 AND id = $2`,
  }
  await query(setSeq, [tenant, conversation.id, seq])
  return { type: 'ok', seq }
}

/** False when it exists already. */
async function insertConversation(
  query: Query,
  schema: string,
  tenant: string,
  row: RestoredConversation,
): Promise<boolean> {
  const insert = {
    name: 'upkeep_insert_conversation',
    text: `INSERT INTO ${schema}.conversations (tenant, id, kind, agent, status, settings, fsm_state, title, parent, child_of,
        wake_at, is_dormant, owner, created_at, updated_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) ON CONFLICT DO NOTHING RETURNING ${writeNoOutbox}`,
  }
  const { id, kind, agent, status, settings, fsmState, title, parent, childOf, wakeAt, isDormant, owner } = row
  const columns = [id, kind, agent, status, settings, fsmState, title, parent, childOf, wakeAt, isDormant, owner]
  return (await query(insert, [tenant, ...columns, row.createdAt, row.updatedAt])).length > 0
}

/** Rows of one type. */
type Batch = {
  [Type in ConversationRow['type']]: {
    readonly type: Type
    readonly rows: readonly Extract<ConversationRow, { type: Type }>['row'][]
  }
}[ConversationRow['type']]

/** Writes the rows in one statement, in their order, which the numbers of model calls follow. Null when nothing prevents it. */
export async function restoreBatch(
  query: Query,
  schema: string,
  { tenant, id }: ConversationRef,
  batch: Batch,
): Promise<RestoreOutcome | null> {
  const insert = <Row>(
    table: string,
    columns: readonly Column<Row>[],
    rows: readonly Row[],
    end = '',
  ): Promise<{ id: string }[]> => {
    const names = columns.map(([name]) => name)
    const arrays = columns.map(([, type], index) => `$${index + 3}::${type}[]`)
    const statement = {
      name: `upkeep_restore_${table}`,
      text: `INSERT INTO ${schema}.${table} (tenant, conversation_id, ${names.join(', ')})
        SELECT $1, $2, ${names.map((name) => `x.${name}`).join(', ')}
        FROM unnest(${arrays.join(', ')}) WITH ORDINALITY x (${names.join(', ')}, place) ORDER BY x.place ${end}`,
    }
    return query(statement, [tenant, id, ...columns.map(([, , read]) => arrayLiteral(rows, read))])
  }

  switch (batch.type) {
    case 'event':
      await insert('events', eventColumns, batch.rows)
      return null
    case 'summary':
      await insert('summaries', summaryColumns, batch.rows)
      return null
    case 'key':
      await insert('commit_keys', keyColumns, batch.rows)
      return null
    case 'model_call':
      await insert('model_calls', modelCallColumns, batch.rows)
      return null
    case 'call': {
      const written = await insert('calls', callColumns, batch.rows, 'ON CONFLICT DO NOTHING RETURNING id')
      const conflicting = batch.rows.find((row) => !written.some((other) => other.id === row.id))
      return conflicting ? { type: 'call_exists', callId: conflicting.id } : null
    }
    case 'blob_ref': {
      const lock = {
        name: 'upkeep_lock_blobs',
        text: `SELECT hash FROM ${schema}.blobs WHERE tenant = $1 AND hash = ANY ($2::text[]) ORDER BY hash FOR SHARE`,
      }
      const there = await query<{ hash: string }>(lock, [tenant, batch.rows.map((row) => row.hash)])
      const missing = batch.rows.find((row) => !there.some((blob) => blob.hash === row.hash))
      if (missing) return { type: 'blob_missing', hash: missing.hash }
      await insert('blob_refs', refColumns, batch.rows)
      return null
    }
  }
}

type Column<Row> = readonly [name: string, type: 'text' | 'bigint', read: (row: Row) => string | number | null]

type RowOf<Type extends Batch['type']> = Extract<ConversationRow, { type: Type }>['row']

const eventColumns: readonly Column<RowOf<'event'>>[] = [
  ['seq', 'bigint', (row) => row.seq],
  ['at', 'bigint', (row) => row.at],
  ['type', 'text', (row) => row.type],
  ['content', 'text', (row) => row.content],
]

const summaryColumns: readonly Column<RowOf<'summary'>>[] = [
  ['from_seq', 'bigint', (row) => row.fromSeq],
  ['to_seq', 'bigint', (row) => row.toSeq],
  ['content', 'text', (row) => row.content],
  ['version', 'bigint', (row) => row.version],
  ['base', 'text', (row) => row.base],
]

const keyColumns: readonly Column<RowOf<'key'>>[] = [
  ['key', 'text', (row) => row.key],
  ['digest', 'text', (row) => row.digest],
  ['seq', 'bigint', (row) => row.seq],
]

const modelCallColumns: readonly Column<RowOf<'model_call'>>[] = [
  ['turn_ref', 'text', (row) => row.turnRef],
  ['rendered_context', 'text', (row) => row.renderedContext],
  ['model', 'text', (row) => row.model],
  ['usage', 'text', (row) => row.usage],
  ['latency_ms', 'bigint', (row) => row.latencyMs],
  ['status', 'text', (row) => row.status],
  ['summary_version', 'bigint', (row) => row.summaryVersion],
  ['evictions', 'text', (row) => row.evictions],
  ['meta', 'text', (row) => row.meta],
  ['at', 'bigint', (row) => row.at],
]

const callColumns: readonly Column<RowOf<'call'>>[] = [
  ['id', 'text', (row) => row.id],
  ['name', 'text', (row) => row.name],
  ['executor', 'text', (row) => row.executor],
  ['status', 'text', (row) => row.status],
  ['args', 'text', (row) => row.args],
  ['result', 'text', (row) => row.result],
  ['round', 'bigint', (row) => row.round],
  ['kind', 'text', (row) => row.kind],
  ['prompt', 'text', (row) => row.prompt],
  ['notice', 'text', (row) => row.notice],
  ['meta', 'text', (row) => row.meta],
  ['expires_at', 'bigint', (row) => row.expiresAt],
  ['created_at', 'bigint', (row) => row.createdAt],
  ['resolved_at', 'bigint', (row) => row.resolvedAt],
  ['resolved_seq', 'bigint', (row) => row.resolvedSeq],
]

const refColumns: readonly Column<RowOf<'blob_ref'>>[] = [
  ['hash', 'text', (row) => row.hash],
  ['first_seq', 'bigint', (row) => row.firstSeq],
]
