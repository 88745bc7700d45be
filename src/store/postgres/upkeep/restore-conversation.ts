import { rowSize } from '../../row-size.ts'
import type { ConversationRow, RestoredConversation, RestoreOutcome } from '../../upkeep.ts'
import type { Query } from '../database.ts'
import { type Batch, restoreBatch } from './restore-batch.ts'

const batchRows = 500
const batchCharacters = 2 * 1024 * 1024

/** Must run inside a transaction, which is to be rolled back unless the outcome is ok. */
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

/** False when there is one. */
async function insertConversation(
  query: Query,
  schema: string,
  tenant: string,
  row: RestoredConversation,
): Promise<boolean> {
  const insert = {
    name: 'upkeep_insert_conversation',
    text: `INSERT INTO ${schema}.conversations (tenant, id, kind, agent, status, settings, fsm_state, title, parent, child_of,
        wake_at, is_dormant, created_at, updated_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) ON CONFLICT DO NOTHING RETURNING 1`,
  }
  const { id, kind, agent, status, settings, fsmState, title, parent, childOf, wakeAt, isDormant } = row
  const columns = [id, kind, agent, status, settings, fsmState, title, parent, childOf, wakeAt, isDormant]
  return (await query(insert, [tenant, ...columns, row.createdAt, row.updatedAt])).length > 0
}
