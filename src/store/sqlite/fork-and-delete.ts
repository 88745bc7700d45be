import { uuidV7 } from '../../base/uuid-v7.ts'
import type { ForkOutcome, ForkRequest, StoredConversation, StoredEvent } from '../driver.ts'
import { planFork } from '../plan-fork.ts'
import { findConversation, getConversation, insertConversation } from './conversations.ts'
import type { Database } from './database.ts'
import { appendEvents, insertCall, pendingCalls, readEvents } from './events.ts'
import { forgetOutbox, outboxTables } from './outbox.ts'
import { copyBlobRefs, deleteBlobsOfTenant, latestSummary, releaseBlobs } from './records.ts'
import { forgetPause } from './steering.ts'

/** Must run inside a transaction. The database copies the events; only those after the summary are read here. */
export function forkConversation(
  db: Database,
  tenant: string,
  id: string,
  newId: string,
  { at, agent, owner }: ForkRequest,
): ForkOutcome {
  const conversation = getConversation(db, tenant, id)
  if (!conversation) return 'missing'
  if (findConversation(db, tenant, newId)) return 'exists'
  const { lastSeq } = conversation
  const end = at ?? lastSeq
  if (end > lastSeq) return { pastEnd: lastSeq }
  const now = Date.now()
  const plan = planFork({ ...readSource(db, tenant, conversation, end), agent, owner }, newId, uuidV7)
  const fromCid = findConversation(db, tenant, id)!.cid
  const cid = insertConversation(db, tenant, newId, {
    ...plan.conversation,
    childOf: null,
    createdAt: now,
    wakeAt: null,
    isDormant: true,
  })
  copyRows(db, fromCid, cid, end)
  for (const { seq, content } of plan.replaced) {
    db.run('UPDATE events SET content = ? WHERE cid = ? AND seq = ?', content, cid, seq)
  }
  appendEvents(db, cid, end, plan.appended, now)
  for (const call of plan.calls) insertCall(db, tenant, cid, call)
  forgetOutbox(db, cid)
  return 'ok'
}

function readSource(db: Database, tenant: string, conversation: StoredConversation, at: number) {
  const summary = latestSummary(db, tenant, conversation.id, at)
  const events: StoredEvent[] = readEvents(db, tenant, conversation.id, { after: summary?.toSeq ?? 0, before: at + 1 })
  return { conversation, summary, events, pending: pendingCalls(db, tenant, conversation.id), at }
}

function copyRows(db: Database, fromCid: number, toCid: number, upTo: number): void {
  db.run(
    `INSERT INTO events (cid, seq, at, type, content)
     SELECT ?, seq, at, type, content FROM events WHERE cid = ? AND seq <= ? ORDER BY seq`,
    toCid,
    fromCid,
    upTo,
  )
  db.run(
    `INSERT INTO summaries (cid, to_seq, from_seq, version, content, base)
     SELECT ?, to_seq, from_seq, version, content, base FROM summaries WHERE cid = ? AND to_seq <= ?`,
    toCid,
    fromCid,
    upTo,
  )
  copyBlobRefs(db, fromCid, toCid, upTo)
}

/** Deletes a conversation with its child agents, recursively. Returns how many conversations were removed. */
export function deleteConversation(db: Database, tenant: string, id: string): number {
  db.run('DELETE FROM snapshots WHERE tenant = ? AND id = ?', tenant, id)
  leaveTombstone(db, tenant, id, Date.now())
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
  db.run('DELETE FROM bulk_jobs WHERE tenant = ?', tenant)
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
    leaveTombstone(db, tenant, id, Date.now())
    forgetPause(db, tenant, id)
    db.run('DELETE FROM snapshots WHERE tenant = ? AND id = ?', tenant, id)
  }
  keepOrder(db, newest)
  passMoment(endedAt)
}

/** Marks an id as deleted. Of two marks the later one stays. */
export function leaveTombstone(db: Database, tenant: string, id: string, at: number): void {
  const sql = `INSERT INTO tombstones (tenant, id, at) VALUES (?, ?, ?)
    ON CONFLICT (tenant, id) DO UPDATE SET at = max(at, excluded.at)`
  db.run(sql, tenant, id, at)
}

export function isDeleted(db: Database, tenant: string, id: string): boolean {
  return db.get('SELECT 1 FROM tombstones WHERE tenant = ? AND id = ?', tenant, id) !== undefined
}

/** Waits until the clock has passed `at`: a new conversation under a freed id must be later than the deleted one, because only their times tell them apart. */
function passMoment(at: number): void {
  if (Date.now() === at) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2)
}

function endOf(db: Database, cid: number): number {
  return db.get<{ at: number }>('SELECT at FROM events WHERE cid = ? ORDER BY seq DESC LIMIT 1', cid)?.at ?? 0
}

const tables = ['events', 'keys', 'calls', 'summaries', 'model_calls', ...outboxTables, 'conversations']

/**
 * SQLite reuses the id of a deleted newest row, so a watcher that looks for greater ids would miss the next event. An event that belongs to no conversation
 * keeps the id taken.
 */
function keepOrder(db: Database, newest: number): void {
  if (newestEventId(db) >= newest) return
  db.run('DELETE FROM events WHERE cid = 0')
  db.run("INSERT INTO events (id, cid, seq, at, type, content) VALUES (?, 0, ?, 0, 'deleted', '')", newest, newest)
}

function newestEventId(db: Database): number {
  return db.get<{ id: number | null }>('SELECT max(id) AS id FROM events')?.id ?? 0
}
