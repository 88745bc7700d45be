import type { Rebuilt } from '../../upkeep.ts'
import { isQuarantined } from '../claims.ts'
import type { Query, Statement } from '../database.ts'
import { nowMs } from '../sql-names.ts'
import { restoreBatch } from './restore-batch.ts'

const columnNames = {
  kind: 'kind',
  lastSeq: 'last_seq',
  status: 'status',
  fsmState: 'fsm_state',
  idleSeq: 'idle_seq',
  title: 'title',
  childOf: 'child_of',
  wakeAt: 'wake_at',
} as const

/** Must run inside a transaction. Locks the conversation as a commit does. */
export async function rebuild(
  query: Query,
  schema: string,
  tenant: string,
  id: string,
  { expected, columns, putCalls, removeCalls, bases, putBlobRefs, removeBlobRefs }: Rebuilt,
): Promise<'ok' | 'moved' | 'held'> {
  const run = (name: string, text: string, values: readonly unknown[]): Promise<unknown[]> =>
    query({ name: `upkeep_${name}`, text } satisfies Statement, [tenant, id, ...values])
  const [row] = (await run(
    'rebuild_lock',
    `SELECT last_seq, updated_at, coalesce(leased_until, 0) > ${nowMs} AND NOT ${isQuarantined} AS held
     FROM ${schema}.conversations c WHERE tenant = $1 AND id = $2 FOR UPDATE`,
    [],
  )) as { last_seq: number; updated_at: number; held: boolean }[]
  if (row?.last_seq !== expected.lastSeq || row.updated_at !== expected.updatedAt) return 'moved'
  if (row.held) return 'held'
  for (const [name, column] of Object.entries(columnNames)) {
    const value = columns[name as keyof typeof columnNames]
    if (value === undefined) continue
    await run(`set_${column}`, `UPDATE ${schema}.conversations SET ${column} = $3 WHERE tenant = $1 AND id = $2`, [
      value,
    ])
  }
  await run(
    'remove_calls',
    `DELETE FROM ${schema}.calls WHERE tenant = $1 AND conversation_id = $2 AND id = ANY ($3::text[])`,
    [[...removeCalls, ...putCalls.map((call) => call.id)]],
  )
  await run(
    'remove_refs',
    `DELETE FROM ${schema}.blob_refs WHERE tenant = $1 AND conversation_id = $2 AND hash = ANY ($3::text[])`,
    [[...removeBlobRefs, ...putBlobRefs.map((ref) => ref.hash)]],
  )
  if (putCalls.length > 0 && (await restoreBatch(query, schema, { tenant, id }, { type: 'call', rows: putCalls }))) {
    return 'moved'
  }
  const refs = { type: 'blob_ref' as const, rows: putBlobRefs }
  if (putBlobRefs.length > 0 && (await restoreBatch(query, schema, { tenant, id }, refs))) return 'moved'
  for (const { toSeq, base } of bases) {
    await run(
      'set_base',
      `UPDATE ${schema}.summaries SET base = $4 WHERE tenant = $1 AND conversation_id = $2 AND to_seq = $3`,
      [toSeq, base],
    )
  }
  return 'ok'
}
