import {
  type ClaimOptions,
  type ClaimOutcome,
  type ClockChange,
  judgeClaim,
  type KnownLease,
  type LeaseNews,
  leaseNews,
  longestLease,
  quarantineHolder,
  quarantineUntil,
  type StoredLease,
  withoutLapse,
} from '../lease.ts'
import type { SlotLimits } from '../slots.ts'
import type { WatchedLog } from '../store.ts'
import { isQuarantined, lastAt, lastSeq } from './columns.ts'
import type { Database } from './database.ts'
import { limitReached, passes } from './slots.ts'
import { pauseOf } from './steering.ts'

export function claimLease(
  db: Database,
  tenant: string,
  id: string,
  holder: string,
  ttlMs: number,
  options: Required<ClaimOptions>,
): ClaimOutcome {
  const found = findLease(db, tenant, id)
  if (!found || pauseOf(db, { tenant, id, agent: found.agent })) return { type: 'held' }
  const now = Date.now()
  const { cid, agent, passes } = found
  const reached = (limits: SlotLimits) => (passes ? null : limitReached(db, { cid, tenant, agent }, limits, now))
  const { outcome, lease } = judgeClaim(
    found.lease,
    { holder, ttlMs, ...options, epoch: () => nextEpoch(db), reached },
    now,
  )
  if (lease) setLease(db, found.cid, lease)
  return outcome
}

/** The columns of a lease. All null if there is none, whatever earlier leases left behind. */
export type LeaseColumns = {
  readonly leaseHolder: string | null
  readonly leaseEpoch: number | null
  readonly leaseUntil: number | null
  readonly claimedAt: number | null
  readonly lapsed: string | null
  readonly account: string | null
}

export const leaseColumns =
  'lease_holder AS leaseHolder, lease_epoch AS leaseEpoch, lease_until AS leaseUntil, claimed_at AS claimedAt, lapsed, account'

export function leaseIn(columns: LeaseColumns): StoredLease | null {
  const { leaseHolder, leaseEpoch, leaseUntil, claimedAt, lapsed, account } = columns
  if (leaseHolder === null || leaseEpoch === null || leaseUntil === null) return null
  const epochs = lapsed === null ? [] : (JSON.parse(lapsed) as number[])
  const lease = { holder: leaseHolder, epoch: leaseEpoch, until: leaseUntil, claimedAt, lapsed: epochs }
  return account === null ? lease : { ...lease, account }
}

/** The values for `setLeaseColumns`. */
export function leaseValues(lease: StoredLease | null): (string | number | null)[] {
  if (!lease) return [null, null, null, null, null, null]
  const { holder, epoch, until, claimedAt, lapsed, account = null } = lease
  return [holder, epoch, until, claimedAt, lapsed.length === 0 ? null : JSON.stringify(lapsed), account]
}

export const setLeaseColumns =
  'lease_holder = ?, lease_epoch = ?, lease_until = ?, claimed_at = ?, lapsed = ?, account = ?'

/** Epochs come from one counter for the whole store. */
export function nextEpoch(db: Database): number {
  return db.get<{ epoch: number }>("UPDATE meta SET value = value + 1 WHERE name = 'epoch' RETURNING value AS epoch")!
    .epoch
}

/** Must only be called when the lease is free, or when its holder releases it. */
export function setLease(db: Database, cid: number, lease: StoredLease | null): void {
  db.run(`UPDATE conversations SET ${setLeaseColumns} WHERE cid = ?`, ...leaseValues(lease), cid)
}

export function releaseLease(db: Database, tenant: string, id: string, epoch: number): void {
  const found = findLease(db, tenant, id)
  if (found?.lease?.epoch === epoch) setLease(db, found.cid, null)
}

export function takeBackLapse(db: Database, tenant: string, id: string, epoch: number): void {
  const found = findLease(db, tenant, id)
  if (found?.lease?.lapsed.includes(epoch)) setLease(db, found.cid, withoutLapse(found.lease, epoch))
}

export function unquarantine(db: Database, tenant: string, id: string): boolean {
  const found = findLease(db, tenant, id)
  const isQuarantined = found?.lease?.holder === quarantineHolder && found.lease.until === quarantineUntil
  if (isQuarantined) setLease(db, found.cid, null)
  return isQuarantined
}

/** Also renews lapsed leases, as long as no other holder took them. */
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

type FoundLease = {
  readonly cid: number
  readonly lease: StoredLease | null
  readonly agent: string | null
  readonly passes: boolean
}

function findLease(db: Database, tenant: string, id: string): FoundLease | null {
  const row = db.get<LeaseColumns & { cid: number; agent: string | null; passes: number }>(
    `SELECT cid, agent, ${passes} AS passes, ${leaseColumns} FROM conversations WHERE tenant = ? AND id = ?`,
    tenant,
    id,
  )
  return row ? { cid: row.cid, lease: leaseIn(row), agent: row.agent, passes: row.passes === 1 } : null
}

export function movedLogs(db: Database, watched: readonly WatchedLog[]): number[] {
  const known = watched.map(({ tenant, id, seq, at, status }) => [tenant, id, seq, at, status])
  return db
    .all<{ place: number }>(
      `WITH known AS MATERIALIZED (
         SELECT key AS place, value ->> 0 AS tenant, value ->> 1 AS id, value ->> 2 AS seq, value ->> 3 AS at, value ->> 4 AS status
         FROM json_each(?)
       )
       SELECT place FROM known k LEFT JOIN conversations ON conversations.tenant = k.tenant AND conversations.id = k.id
       WHERE ${lastSeq} <> k.seq
         OR (k.seq > 0 AND k.at IS NOT NULL AND (SELECT at FROM events WHERE cid = conversations.cid AND seq = k.seq) <> k.at)
         OR (k.status IS NOT NULL AND (conversations.status IS NOT k.status OR ${isQuarantined}))
       ORDER BY place`,
      JSON.stringify(known),
    )
    .map(({ place }) => place)
}

type Row = { readonly cid: number; readonly isTooLong: number; readonly wasDue: number }

/**
 * Repairs leases and wake-ups that a clock which was ahead has written: see `Driver.dueWork`. Reads every conversation that is held or has a wake-up, so it
 * runs rarely.
 */
export function repairAfterClockChange(db: Database, news: ClockChange, leaseMs: number | undefined): void {
  const now = Date.now()
  const until = leaseMs === undefined ? Number.MAX_SAFE_INTEGER : now + longestLease(leaseMs)
  const isHeld = `(lease_until > ${now} AND NOT ${isQuarantined})`
  const isTooLong = `(${isHeld} AND lease_until > ${until})`
  const wasDue = `(wake_at <= max(updated_at, ${lastAt}) OR ${news === 'back' ? isHeld : isTooLong})`
  const rows = db.all<Row>(
    `SELECT cid, coalesce(${isTooLong}, false) AS isTooLong, coalesce(wake_at > ${now} AND ${wasDue}, false) AS wasDue
     FROM conversations INDEXED BY conversations_agenda WHERE wake_at IS NOT NULL OR lease_holder IS NOT NULL`,
  )
  for (const { cid, isTooLong, wasDue } of rows) {
    if (isTooLong) db.run('UPDATE conversations SET lease_until = ? WHERE cid = ?', until, cid)
    if (wasDue) db.run('UPDATE conversations SET wake_at = ? WHERE cid = ?', now, cid)
  }
}
