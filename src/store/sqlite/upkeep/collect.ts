import type { Collected, CollectRequest } from '../../upkeep.ts'
import type { Database } from '../database.ts'

/** Must run inside a transaction, unless it only counts. */
export function collect(db: Database, request: CollectRequest): Collected {
  switch (request.what) {
    case 'model_calls':
      return { rows: modelCalls(db, request), bytes: 0 }
    case 'blobs':
      return blobs(db, request)
    case 'pins':
      return { rows: pins(db, request), bytes: 0 }
    case 'orphans':
      return {
        rows: remove(db, ['keys', 'summaries', 'model_calls'], `${isGone} AND ${hasNoEvents}`, request),
        bytes: 0,
      }
    case 'derived_orphans':
      return { rows: remove(db, ['calls'], isGone, request) + danglingRefs(db, request), bytes: 0 }
  }
}

const isGone = 'cid NOT IN (SELECT cid FROM conversations)'
const hasNoEvents = 'cid NOT IN (SELECT cid FROM events)'

function modelCalls(db: Database, { tenant, olderThanMs, limit, isDryRun }: CollectRequest): number {
  const found = db.all<{ id: number }>(
    `SELECT model_calls.id FROM model_calls JOIN conversations USING (cid)
     WHERE tenant = coalesce(?, tenant) AND at < ? LIMIT ?`,
    ...[tenant, Date.now() - olderThanMs, limit],
  )
  if (!isDryRun) for (const { id } of found) db.run('DELETE FROM model_calls WHERE id = ?', id)
  return found.length
}

function blobs(db: Database, { tenant, limit, isDryRun }: CollectRequest): Collected {
  const found = db.all<{ bid: number; bytes: number | null }>(
    `SELECT blobs.bid, length(bytes) AS bytes FROM blobs LEFT JOIN blob_bytes USING (bid)
     WHERE tenant = coalesce(?, tenant) AND pins <= 0 AND NOT EXISTS (SELECT 1 FROM blob_refs WHERE blob_refs.bid = blobs.bid) LIMIT ?`,
    ...[tenant, limit],
  )
  for (const { bid } of isDryRun ? [] : found) {
    db.run('DELETE FROM blobs WHERE bid = ?', bid)
    db.run('DELETE FROM blob_bytes WHERE bid = ?', bid)
  }
  return { rows: found.length, bytes: found.reduce((sum, { bytes }) => sum + (bytes ?? 0), 0) }
}

function pins(db: Database, { tenant, limit, isDryRun }: CollectRequest): number {
  const found = db.all<{ bid: number }>(
    'SELECT bid FROM blobs WHERE tenant = coalesce(?, tenant) AND pins > 0 LIMIT ?',
    ...[tenant, limit],
  )
  if (!isDryRun) for (const { bid } of found) db.run('UPDATE blobs SET pins = 0 WHERE bid = ?', bid)
  return found.length
}

/** Rows of a conversation that is gone name no tenant, so they go with those of all tenants. */
function remove(db: Database, tables: readonly string[], condition: string, request: CollectRequest): number {
  const { tenant, limit, isDryRun } = request
  if (tenant !== null) return 0
  let rows = 0
  for (const table of tables) {
    const owners = db.all<{ cid: number; count: number }>(
      `SELECT cid, count(*) AS count FROM ${table} WHERE ${condition} GROUP BY cid LIMIT ?`,
      limit,
    )
    for (const { cid, count } of owners) {
      if (rows >= limit) break
      rows += count
      if (!isDryRun) db.run(`DELETE FROM ${table} WHERE cid = ?`, cid)
    }
  }
  return rows
}

function danglingRefs(db: Database, { tenant, limit, isDryRun }: CollectRequest): number {
  if (tenant !== null) return 0
  const found = db.all<{ cid: number; bid: number }>(
    `SELECT cid, bid FROM blob_refs WHERE ${isGone} OR bid NOT IN (SELECT bid FROM blobs) LIMIT ?`,
    limit,
  )
  if (!isDryRun) {
    for (const { cid, bid } of found) db.run('DELETE FROM blob_refs WHERE cid = ? AND bid = ?', cid, bid)
  }
  return found.length
}
