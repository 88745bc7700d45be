import type { Collected, CollectRequest } from '../../../store/upkeep.ts'
import type { Query } from '../database.ts'
import { nowMs, secondary } from '../sql-names.ts'
import { isOrphan } from './reader.ts'

/** Must run inside a transaction; it is rolled back where nothing is to be removed. */
export async function collect(query: Query, schema: string, request: CollectRequest): Promise<Collected> {
  const { what, tenant, olderThanMs, limit } = request
  const count = async (name: string, text: string, values: readonly unknown[]): Promise<Collected> => {
    const rows = await query<{ bytes: number }>({ name: `upkeep_collect_${name}`, text, timeoutMs: 0 }, values)
    return { rows: rows.length, bytes: rows.reduce((sum, row) => sum + row.bytes, 0) }
  }
  const removed = (table: string, condition: string): string => `DELETE FROM ${schema}.${table} d USING (
      SELECT t.ctid AS place FROM ${schema}.${table} t WHERE t.tenant = coalesce($1, t.tenant) AND ${condition} LIMIT $2
    ) x WHERE d.ctid = x.place RETURNING 0 AS bytes`

  switch (what) {
    case 'model_calls':
      return count('model_calls', removed('model_calls', `t.at < ${nowMs} - $3::bigint`), [tenant, limit, olderThanMs])
    case 'pins':
      return count(
        'pins',
        `UPDATE ${schema}.blobs d SET pins = 0 FROM (
           SELECT t.ctid AS place FROM ${schema}.blobs t WHERE t.tenant = coalesce($1, t.tenant) AND t.pins > 0 LIMIT $2
         ) x WHERE d.ctid = x.place RETURNING 0 AS bytes`,
        [tenant, limit],
      )
    case 'blobs': {
      // Locked first, so that a commit that begins to refer to one comes before or after, not between.
      await count(
        'lock_blobs',
        `SELECT 0 AS bytes FROM ${schema}.blobs b WHERE ${isUnreferenced(schema)} ORDER BY b.tenant, b.hash LIMIT $2 FOR UPDATE`,
        [tenant, limit],
      )
      return count(
        'blobs',
        `DELETE FROM ${schema}.blobs d USING (
           SELECT b.tenant, b.hash FROM ${schema}.blobs b WHERE ${isUnreferenced(schema)} ORDER BY b.tenant, b.hash LIMIT $2
         ) x WHERE d.tenant = x.tenant AND d.hash = x.hash RETURNING length(d.bytes) AS bytes`,
        [tenant, limit],
      )
    }
    case 'derived_orphans':
    case 'orphans': {
      const all: Collected = { rows: 0, bytes: 0 }
      let rows = 0
      for (const [type, table] of what === 'orphans' ? ownRows : derivedRows) {
        const hasNoEvents = `NOT EXISTS (
          SELECT 1 FROM ${schema}.events e WHERE e.tenant = t.tenant AND e.conversation_id = t.conversation_id)`
        const condition = isOrphan(schema, type) + (what === 'orphans' ? ` AND ${hasNoEvents}` : '')
        rows += (await count(`orphans_${table}`, removed(table, condition), [tenant, limit])).rows
      }
      return { ...all, rows }
    }
  }
}

const ownRows = [
  ['key', 'commit_keys'],
  ['summary', 'summaries'],
  ['model_call', 'model_calls'],
] as const

const derivedRows = [
  ['call', 'calls'],
  ['blob_ref', 'blob_refs'],
] as const

const isUnreferenced = (schema: string): string => `b.tenant = coalesce($1, b.tenant) AND b.pins <= 0
  AND NOT EXISTS (SELECT 1 FROM ${schema}.blob_refs r WHERE r.tenant ${secondary} = b.tenant AND r.hash = b.hash)`
