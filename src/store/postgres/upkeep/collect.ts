import type { Collected, CollectRequest } from '../../upkeep.ts'
import type { Query } from '../database.ts'
import { nowMs, secondary } from '../sql-names.ts'
import { isOrphan } from './reader.ts'

/** Must run inside a transaction. */
export async function collect(query: Query, schema: string, request: CollectRequest): Promise<Collected> {
  const { tenant, olderThanMs, limit, isDryRun } = request
  const all = { rows: 0, bytes: 0 }
  for (const garbage of garbageOf(schema, request.what)) {
    const { name, from, sizes, condition, act } = garbage
    const chosen = `SELECT t.ctid AS place, ${sizes} AS bytes FROM ${from} t
      WHERE t.tenant = coalesce($1, t.tenant) AND $3::bigint >= 0 AND ${condition} LIMIT $2`
    const counted = `SELECT count(*) AS rows, coalesce(sum(x.bytes), 0)::bigint AS bytes FROM`
    // Locked first, so that whoever begins to refer to a blob comes before or after, not between.
    const acted = `WITH chosen AS (${chosen} FOR UPDATE OF t), x AS (${act} RETURNING chosen.bytes) ${counted} x`
    const statement = isDryRun
      ? { name: `upkeep_count_${name}`, text: `${counted} (${chosen}) x`, timeoutMs: 0 }
      : { name: `upkeep_collect_${name}`, text: acted, timeoutMs: 0 }
    const [found] = await query<Collected>(statement, [tenant, limit, olderThanMs])
    all.rows += found!.rows
    all.bytes += found!.bytes
  }
  return all
}

type Garbage = {
  readonly name: string
  readonly from: string
  /** What a row takes, as far as it is told. */
  readonly sizes: string
  /** On a row under the alias t. */
  readonly condition: string
  /** What is done to the rows that `chosen` names by their place. */
  readonly act: string
}

function garbageOf(schema: string, what: CollectRequest['what']): Garbage[] {
  const removed = (table: string, condition: string, name = table, sizes = '0'): Garbage => {
    const from = `${schema}.${table}`
    return { name, from, sizes, condition, act: `DELETE FROM ${from} d USING chosen WHERE d.ctid = chosen.place` }
  }
  const hasNoEvents = `NOT EXISTS (
    SELECT 1 FROM ${schema}.events e WHERE e.tenant = t.tenant AND e.conversation_id = t.conversation_id)`
  const orphans = (table: string, type: Parameters<typeof isOrphan>[1], also = ''): Garbage =>
    removed(table, `${isOrphan(schema, type)}${also}`, `orphans_${table}`)
  switch (what) {
    case 'model_calls':
      return [removed('model_calls', `t.at < ${nowMs} - $3::bigint`)]
    case 'blobs': {
      const isUnreferenced = `t.pins <= 0 AND NOT EXISTS (
        SELECT 1 FROM ${schema}.blob_refs r WHERE r.tenant ${secondary} = t.tenant AND r.hash = t.hash)`
      return [removed('blobs', isUnreferenced, 'blobs', 'length(t.bytes)')]
    }
    case 'pins': {
      const from = `${schema}.blobs`
      const act = `UPDATE ${from} d SET pins = 0 FROM chosen WHERE d.ctid = chosen.place`
      return [{ name: 'pins', from, sizes: '0', condition: 't.pins > 0', act }]
    }
    case 'orphans':
      return [
        orphans('commit_keys', 'key', ` AND ${hasNoEvents}`),
        orphans('summaries', 'summary', ` AND ${hasNoEvents}`),
        orphans('model_calls', 'model_call', ` AND ${hasNoEvents}`),
      ]
    case 'derived_orphans':
      return [orphans('calls', 'call'), orphans('blob_refs', 'blob_ref')]
  }
}
