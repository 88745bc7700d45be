import { deleteBlobsOfTenant, releaseBlobs } from './blobs.ts'
import type { Database } from './database.ts'

/** With its child agents, and theirs. Returns how many conversations there were. */
export function deleteConversation(db: Database, tenant: string, id: string): number {
  db.run('DELETE FROM snapshots WHERE tenant = ? AND id = ?', tenant, id)
  const doomed = db.all<{ cid: number; id: string }>(
    `WITH RECURSIVE doomed (tenant, cid, id) AS (
       SELECT tenant, cid, id FROM conversations WHERE tenant = ? AND id = ?
       UNION
       SELECT child.tenant, child.cid, child.id FROM doomed CROSS JOIN conversations AS child
       ON child.tenant = doomed.tenant AND child.child_of = doomed.id
     ) SELECT cid, id FROM doomed`,
    tenant,
    id,
  )
  removeAll(db, tenant, doomed)
  return doomed.length
}

export function deleteTenant(db: Database, tenant: string): number {
  const doomed = db.all<{ cid: number; id: string }>('SELECT cid, id FROM conversations WHERE tenant = ?', tenant)
  removeAll(db, tenant, doomed)
  deleteBlobsOfTenant(db, tenant)
  db.run('DELETE FROM snapshots WHERE tenant = ?', tenant)
  return doomed.length
}

function removeAll(
  db: Database,
  tenant: string,
  doomed: readonly { readonly cid: number; readonly id: string }[],
): void {
  if (doomed.length === 0) return
  const newest = newestEventId(db)
  let endedAt = 0
  for (const { cid, id } of doomed) {
    endedAt = Math.max(endedAt, endOf(db, cid))
    for (const table of tables) db.run(`DELETE FROM ${table} WHERE cid = ?`, cid)
    releaseBlobs(db, cid)
    db.run('DELETE FROM snapshots WHERE tenant = ? AND id = ?', tenant, id)
  }
  keepOrder(db, newest)
  passMoment(endedAt)
}

/** What is begun anew under a freed id is later than what was deleted: only their times tell them apart. */
function passMoment(at: number): void {
  if (Date.now() === at) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2)
}

function endOf(db: Database, cid: number): number {
  return db.get<{ at: number }>('SELECT at FROM events WHERE cid = ? ORDER BY seq DESC LIMIT 1', cid)?.at ?? 0
}

const tables = ['events', 'keys', 'calls', 'summaries', 'model_calls', 'conversations']

/**
 * SQLite gives the id of a deleted newest row again, and whoever watches for greater ids would miss the event that gets it.
 * So an event that belongs to no conversation holds the place.
 */
function keepOrder(db: Database, newest: number): void {
  if (newestEventId(db) >= newest) return
  db.run('DELETE FROM events WHERE cid = 0')
  db.run("INSERT INTO events (id, cid, seq, at, type, content) VALUES (?, 0, ?, 0, 'deleted', '')", newest, newest)
}

function newestEventId(db: Database): number {
  return db.get<{ id: number | null }>('SELECT max(id) AS id FROM events')?.id ?? 0
}
