import type { BlobSlice } from '../store.ts'
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
  // What is cut out of an empty one is null.
  return blob ? { bytes: blob.bytes ?? new Uint8Array(), mediaType: blob.mediaType } : null
}

/** From now on the conversation keeps the blobs; the pins that kept them until now are taken away. */
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

/** A conversation goes, and with it the blobs that nothing else keeps. */
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
