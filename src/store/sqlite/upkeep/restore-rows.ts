import type { ConversationRow, RestoredBlob, RestoredConversation, RestoreOutcome } from '../../upkeep.ts'
import { findCall, insertCall } from '../calls.ts'
import { findConversation } from '../conversations.ts'
import type { Database } from '../database.ts'

/** What stands against it; decided by reading alone. `rows` is gone through once. */
export function refuseRestore(
  db: Database,
  tenant: string,
  id: string,
  rows: Iterable<ConversationRow>,
): RestoreOutcome | null {
  if (findConversation(db, tenant, id)) return { type: 'exists' }
  for (const { type, row } of rows) {
    if (type === 'call' && findCall(db, tenant, row.id)) return { type: 'call_exists', callId: row.id }
    if (type === 'blob_ref' && blobId(db, tenant, row.hash) === null) return { type: 'blob_missing', hash: row.hash }
  }
  return null
}

/** Must run inside a transaction, after nothing stood against it. Returns the last seq. */
export function writeRestored(
  db: Database,
  tenant: string,
  conversation: RestoredConversation,
  rows: Iterable<ConversationRow>,
): number {
  const cid = insertRestored(db, tenant, conversation)
  let seq = 0
  for (const row of rows) {
    writeRow(db, tenant, cid, row)
    if (row.type === 'event') seq = row.row.seq
  }
  return seq
}

function insertRestored(db: Database, tenant: string, row: RestoredConversation): number {
  return db.insert(
    `INSERT INTO conversations (tenant, id, created_at, updated_at, wake_at, dormant, kind, agent, status, child_of, parent,
     title, fsm_state, settings) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ...[tenant, row.id, row.createdAt, row.updatedAt, row.wakeAt, row.isDormant ? 1 : 0, row.kind, row.agent],
    ...[row.status, row.childOf, row.parent, row.title, row.fsmState, row.settings],
  )
}

function writeRow(db: Database, tenant: string, cid: number, { type, row }: ConversationRow): void {
  switch (type) {
    case 'event':
      db.run(
        'INSERT INTO events (cid, seq, at, type, content) VALUES (?, ?, ?, ?, ?)',
        ...[cid, row.seq, row.at, row.type, row.content],
      )
      return
    case 'call':
      return insertCall(db, tenant, cid, row)
    case 'summary':
      db.run(
        'INSERT INTO summaries (cid, to_seq, from_seq, version, content, base) VALUES (?, ?, ?, ?, ?, ?)',
        ...[cid, row.toSeq, row.fromSeq, row.version, row.content, row.base],
      )
      return
    case 'key':
      db.run('INSERT INTO keys (cid, key, seq, digest) VALUES (?, ?, ?, ?)', cid, row.key, row.seq, row.digest)
      return
    case 'model_call':
      db.run(
        `INSERT INTO model_calls (cid, turn_ref, at, latency_ms, summary_version, status, model, usage, evictions, rendered_context)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        ...[cid, row.turnRef, row.at, row.latencyMs, row.summaryVersion, row.status],
        ...[row.model, row.usage, row.evictions, row.renderedContext],
      )
      return
    case 'blob_ref':
      db.run(
        'INSERT INTO blob_refs (cid, bid, first_seq) VALUES (?, ?, ?)',
        ...[cid, blobId(db, tenant, row.hash), row.firstSeq],
      )
      return
  }
}

export function blobId(db: Database, tenant: string, hash: string): number | null {
  return db.get<{ bid: number }>('SELECT bid FROM blobs WHERE tenant = ? AND hash = ?', tenant, hash)?.bid ?? null
}

export function restoreBlob(db: Database, tenant: string, { hash, mediaType, pins, bytes }: RestoredBlob): void {
  if (db.run('UPDATE blobs SET pins = max(pins, ?) WHERE tenant = ? AND hash = ?', pins, tenant, hash) > 0) return
  const sql = 'INSERT INTO blobs (tenant, hash, media_type, pins) VALUES (?, ?, ?, ?)'
  const bid = db.insert(sql, tenant, hash, mediaType, pins)
  db.run('INSERT INTO blob_bytes (bid, bytes) VALUES (?, ?)', bid, bytes)
}

export function restoreSnapshot(db: Database, tenant: string, id: string, snapshot: string): boolean {
  const sql = 'INSERT INTO snapshots (tenant, id, snapshot) VALUES (?, ?, ?) ON CONFLICT (tenant, id) DO NOTHING'
  return db.run(sql, tenant, id, snapshot) > 0
}
