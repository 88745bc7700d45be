import { type KnownLease, type LeaseNews, leaseNews } from '../../store/lease-news.ts'
import { lastSeq } from './columns.ts'
import type { Database } from './database.ts'

/** Null when another holder has it, or there is no such conversation. */
export function acquireLease(db: Database, tenant: string, id: string, holder: string, ttlMs: number): number | null {
  const now = Date.now()
  const row = db.get<{ cid: number; holder: string | null; until: number | null }>(
    'SELECT cid, lease_holder AS holder, lease_until AS until FROM conversations WHERE tenant = ? AND id = ?',
    tenant,
    id,
  )
  if (!row) return null
  if (row.until !== null && row.until > now && row.holder !== holder) return null
  const epoch = nextEpoch(db)
  setLease(db, row.cid, { holder, epoch, until: now + ttlMs })
  return epoch
}

export type Lease = { readonly holder: string | null; readonly epoch: number | null; readonly until: number | null }

export const noLease: Lease = { holder: null, epoch: null, until: null }

/** Epochs come from one counter of the whole store. */
export function nextEpoch(db: Database): number {
  return db.get<{ epoch: number }>("UPDATE meta SET value = value + 1 WHERE name = 'epoch' RETURNING value AS epoch")!
    .epoch
}

/** Must only be called when the lease is free, or its holder gives it back. */
export function setLease(db: Database, cid: number, { holder, epoch, until }: Lease): void {
  db.run(
    'UPDATE conversations SET lease_holder = ?, lease_epoch = ?, lease_until = ? WHERE cid = ?',
    ...[holder, epoch, until, cid],
  )
}

export function releaseLease(db: Database, tenant: string, id: string, epoch: number): void {
  db.run(
    `UPDATE conversations SET lease_holder = NULL, lease_epoch = NULL, lease_until = NULL
     WHERE tenant = ? AND id = ? AND lease_epoch = ?`,
    tenant,
    id,
    epoch,
  )
}

/** Also those that have lapsed, as long as nobody took them. */
export function renewLeases(db: Database, holder: string, ttlMs: number, known: readonly KnownLease[]): LeaseNews {
  const rows = db.all<KnownLease>(
    `SELECT tenant, id, lease_epoch AS epoch, ${lastSeq} AS seq FROM conversations INDEXED BY conversations_agenda
     WHERE lease_holder = ?`,
    holder,
  )
  if (known.length > 0) {
    db.run(
      `UPDATE conversations INDEXED BY conversations_agenda SET lease_until = ?
       WHERE lease_holder = ? AND lease_epoch IN (SELECT value FROM json_each(?))`,
      ...[Date.now() + ttlMs, holder, JSON.stringify(known.map(({ epoch }) => epoch))],
    )
  }
  return leaseNews(known, rows)
}
