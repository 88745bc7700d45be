import { type ClockChange, longestLease } from '../clock-watch.ts'
import { isQuarantined, nowMs } from './columns.ts'
import type { Database } from './database.ts'

/** The two times that a commit writes are read one after the other. */
const oneCommitMs = 5

/**
 * Repairs leases and wake-ups that a clock which was ahead has written: see `Driver.dueWork`. Reads every conversation that is held or has a wake-up, so it
 * runs rarely. Locks in the order that batches lock in.
 */
export function repairAfterClockChange(
  database: Database,
): (news: ClockChange, leaseMs: number | undefined) => Promise<void> {
  const { schema } = database
  const isHeld = `(c.leased_until > n.now AND NOT ${isQuarantined})`
  const isTooLong = `(${isHeld} AND c.leased_until > n.now + $1::bigint)`
  const wasDue = `(c.wake_at > n.now AND (c.wake_at <= c.updated_at + ${oneCommitMs} OR ${isTooLong} OR ($2::boolean AND ${isHeld})))`
  const statement = {
    name: 'put_right',
    text: `WITH n AS MATERIALIZED (SELECT ${nowMs} AS now), found AS (
        SELECT c.tenant, c.id, ${isTooLong} IS TRUE AS too_long, ${wasDue} IS TRUE AS was_due
        FROM n, ${schema}.conversations c WHERE c.holder IS NOT NULL OR c.wake_at IS NOT NULL
      ), locked AS (
        SELECT c.tenant, c.id, f.too_long, f.was_due
        FROM found f JOIN ${schema}.conversations c ON c.tenant = f.tenant AND c.id = f.id
        WHERE f.too_long OR f.was_due ORDER BY c.tenant, c.id FOR UPDATE OF c
      )
      UPDATE ${schema}.conversations c SET
        leased_until = CASE WHEN ${isTooLong} THEN n.now + $1::bigint ELSE c.leased_until END,
        wake_at = CASE WHEN ${wasDue} THEN n.now ELSE c.wake_at END
      FROM n, locked l WHERE c.tenant = l.tenant AND c.id = l.id`,
  }
  return async (news, leaseMs) => {
    const longestMs = leaseMs === undefined ? Number.MAX_SAFE_INTEGER - 2 ** 50 : longestLease(leaseMs)
    await database.run(statement, [longestMs, news === 'back'])
  }
}
