import type { ConversationRef } from '../../store/conversation-record.ts'
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
  return takeLease(db, row.cid, holder, now + ttlMs)
}

/** Must only be called when the lease is free. */
export function takeLease(db: Database, cid: number, holder: string, until: number): number {
  const { epoch } = db.get<{ epoch: number }>(
    "UPDATE meta SET value = value + 1 WHERE name = 'epoch' RETURNING value AS epoch",
  )!
  db.run(
    'UPDATE conversations SET lease_holder = ?, lease_epoch = ?, lease_until = ? WHERE cid = ?',
    ...[holder, epoch, until, cid],
  )
  return epoch
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
export function renewLeases(db: Database, holder: string, ttlMs: number): (ConversationRef & { epoch: number })[] {
  return db
    .all<ConversationRef & { epoch: number }>(
      'UPDATE conversations SET lease_until = ? WHERE lease_holder = ? RETURNING tenant, id, lease_epoch AS epoch',
      Date.now() + ttlMs,
      holder,
    )
    .map(({ tenant, id, epoch }) => ({ tenant, id, epoch }))
}
