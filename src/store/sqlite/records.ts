import type { StoredModelCall, StoredSummary, SummaryOutcome } from '../driver.ts'
import type { ModelCallRange } from '../records.ts'
import { rowBytes } from '../rows.ts'
import type { BlobSlice } from '../store.ts'
import { findConversation } from './conversations.ts'
import type { Database } from './database.ts'

export function putBlob(db: Database, tenant: string, hash: string, bytes: Uint8Array, mediaType: string): void {
  if (db.run('UPDATE blobs SET pins = pins + 1 WHERE tenant = ? AND hash = ?', tenant, hash) > 0) return
  const sql = 'INSERT INTO blobs (tenant, hash, media_type, pins) VALUES (?, ?, ?, 1)'
  const bid = db.insert(sql, tenant, hash, mediaType)
  db.run('INSERT INTO blob_bytes (bid, bytes) VALUES (?, ?)', bid, bytes)
}

export function getBlob(
  db: Database,
  tenant: string,
  hash: string,
  slice?: BlobSlice,
): { bytes: Uint8Array; mediaType: string } | null {
  const bytes = slice ? 'substr(bytes, ? + 1, ?)' : 'bytes'
  const blob = db.get<{ bytes: Uint8Array | null; mediaType: string }>(
    `SELECT ${bytes} AS bytes, media_type AS mediaType FROM blobs JOIN blob_bytes USING (bid) WHERE tenant = ? AND hash = ?`,
    ...(slice ? [slice.from, slice.length] : []),
    tenant,
    hash,
  )
  // A slice of an empty blob is null.
  return blob ? { bytes: blob.bytes ?? new Uint8Array(), mediaType: blob.mediaType } : null
}

/** From now on the conversation keeps the blobs; the pins that kept them until now are removed. */
export function referToBlobs(db: Database, tenant: string, cid: number, hashes: readonly string[], seq: number): void {
  for (const hash of hashes) {
    const blob = db.get<{ bid: number }>(
      'UPDATE blobs SET pins = max(pins - 1, 0) WHERE tenant = ? AND hash = ? RETURNING bid',
      tenant,
      hash,
    )
    if (blob) db.run('INSERT OR IGNORE INTO blob_refs (cid, bid, first_seq) VALUES (?, ?, ?)', cid, blob.bid, seq)
  }
}

export function copyBlobRefs(db: Database, fromCid: number, toCid: number, upTo: number): void {
  db.run(
    'INSERT INTO blob_refs (cid, bid, first_seq) SELECT ?, bid, first_seq FROM blob_refs WHERE cid = ? AND first_seq <= ?',
    toCid,
    fromCid,
    upTo,
  )
}

/** Removes a conversation's references, and the blobs that nothing else keeps. */
export function releaseBlobs(db: Database, cid: number): void {
  const refs = db.all<{ bid: number }>('SELECT bid FROM blob_refs WHERE cid = ?', cid)
  if (refs.length === 0) return
  db.run('DELETE FROM blob_refs WHERE cid = ?', cid)
  for (const { bid } of refs) {
    const sql = `DELETE FROM blobs WHERE blobs.bid = ? AND pins = 0
      AND NOT EXISTS (SELECT 1 FROM blob_refs WHERE blob_refs.bid = blobs.bid)`
    if (db.run(sql, bid) > 0) db.run('DELETE FROM blob_bytes WHERE bid = ?', bid)
  }
}

export function deleteBlobsOfTenant(db: Database, tenant: string): void {
  db.run('DELETE FROM blob_bytes WHERE bid IN (SELECT bid FROM blobs WHERE tenant = ?)', tenant)
  db.run('DELETE FROM blobs WHERE tenant = ?', tenant)
}

export function putSummary(
  db: Database,
  tenant: string,
  id: string,
  summary: StoredSummary,
  plannedOn: number,
): SummaryOutcome {
  const conversation = findConversation(db, tenant, id)
  if (!conversation) return 'missing'
  const { toSeq, fromSeq, version, content, base } = summary
  if (toSeq > conversation.lastSeq) return { pastEnd: conversation.lastSeq }
  const superseded = db.get<{ readonly seq: number }>(
    `SELECT max(seq) AS seq FROM events WHERE cid = ? AND seq > ? AND type = 'superseded' HAVING seq IS NOT NULL`,
    ...[conversation.cid, plannedOn],
  )
  if (superseded) return { supersededAt: superseded.seq }
  const overlaps = db.get<Pick<StoredSummary, 'fromSeq' | 'toSeq'>>(
    `SELECT from_seq AS fromSeq, to_seq AS toSeq FROM summaries
     WHERE cid = ? AND to_seq <> ? AND to_seq >= ? AND from_seq <= ? AND NOT (from_seq >= ? AND to_seq < ?) ORDER BY to_seq LIMIT 1`,
    ...[conversation.cid, toSeq, fromSeq, toSeq, fromSeq, toSeq],
  )
  if (overlaps) return { overlaps }
  db.run(
    `INSERT INTO summaries (cid, to_seq, from_seq, version, content, base) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (cid, to_seq) DO UPDATE SET from_seq = excluded.from_seq, version = excluded.version,
     content = excluded.content, base = excluded.base`,
    ...[conversation.cid, toSeq, fromSeq, version, content, base],
  )
  return 'ok'
}

export function latestSummary(
  db: Database,
  tenant: string,
  id: string,
  upTo: number = Number.MAX_SAFE_INTEGER,
): StoredSummary | null {
  const summary = db.get<StoredSummary>(
    `SELECT from_seq AS fromSeq, to_seq AS toSeq, version, content, base FROM summaries
     WHERE cid = (SELECT cid FROM conversations WHERE tenant = ? AND id = ?) AND to_seq <= ?
     ORDER BY to_seq DESC LIMIT 1`,
    tenant,
    id,
    upTo,
  )
  return summary ?? null
}

export function putSnapshot(db: Database, tenant: string, id: string, snapshot: string): void {
  db.run(
    `INSERT INTO snapshots (tenant, id, snapshot) VALUES (?, ?, ?)
     ON CONFLICT (tenant, id) DO UPDATE SET snapshot = excluded.snapshot`,
    tenant,
    id,
    snapshot,
  )
}

export function getSnapshot(db: Database, tenant: string, id: string): string | null {
  const sql = 'SELECT snapshot FROM snapshots WHERE tenant = ? AND id = ?'
  return db.get<{ snapshot: string }>(sql, tenant, id)?.snapshot ?? null
}

export function putModelCall(db: Database, tenant: string, id: string, call: StoredModelCall): boolean {
  const conversation = findConversation(db, tenant, id)
  if (!conversation) return false
  db.run(
    `INSERT INTO model_calls (cid, turn_ref, at, latency_ms, summary_version, status, model, usage, evictions,
     rendered_context, meta) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ...[conversation.cid, call.turnRef, call.at ?? Date.now(), call.latencyMs, call.summaryVersion, call.status],
    ...[call.model, call.usage, call.evictions, call.renderedContext, call.meta],
  )
  return true
}

export function modelCalls(
  db: Database,
  tenant: string,
  id: string,
  { turnRef, from, contexts = true, ...bounds }: ModelCallRange,
): (StoredModelCall & { at: number })[] {
  return db.page<StoredModelCall & { at: number }>(
    `SELECT turn_ref AS turnRef, at, latency_ms AS latencyMs, summary_version AS summaryVersion, status, model, usage, evictions, meta,
     ${contexts ? 'rendered_context' : 'NULL'} AS renderedContext FROM model_calls
     WHERE cid = (SELECT cid FROM conversations WHERE tenant = ? AND id = ?)
     ${turnRef === undefined ? '' : 'AND turn_ref = ?'} ${from === undefined ? '' : 'AND turn_ref >= ?'}
     ORDER BY turn_ref, model_calls.id`,
    bounds,
    rowBytes.modelCall,
    ...[tenant, id, ...[turnRef, from].filter((ref) => ref !== undefined)],
  )
}

export function gcModelCalls(db: Database, tenant: string, id: string, ttlMs: number): number {
  return db.run(
    'DELETE FROM model_calls WHERE cid = (SELECT cid FROM conversations WHERE tenant = ? AND id = ?) AND at < ?',
    tenant,
    id,
    Date.now() - ttlMs,
  )
}
