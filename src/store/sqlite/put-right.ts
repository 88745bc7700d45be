import { type ClockChange, longestLease } from '../clock-watch.ts'
import { isQuarantined, lastAt } from './columns.ts'
import type { Database } from './database.ts'

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
