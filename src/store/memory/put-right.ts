import { type ClockChange, longestLease } from '../clock-watch.ts'
import { type ConversationRow, type MemoryTables, quarantineOf } from './memory-tables.ts'

/** Repairs leases and wake-ups that a clock which was ahead has written: see `Driver.dueWork`. */
export function repairAfterClockChange(
  tables: MemoryTables,
  now: number,
  news: ClockChange,
  leaseMs: number | undefined,
): void {
  for (const [, { conversations }] of tables.tenants())
    for (const row of conversations.values()) repairRow(row, now, news, leaseMs)
}

function repairRow(row: ConversationRow, now: number, news: ClockChange, leaseMs: number | undefined): void {
  const { lease, wakeAt, columns } = row
  const isHeld = lease !== null && lease.until > now && quarantineOf(row).quarantinedAt === null
  const until = leaseMs === undefined ? Number.POSITIVE_INFINITY : now + longestLease(leaseMs)
  const isTooLong = isHeld && lease.until > until
  const wasDue = wakeAt !== null && (wakeAt <= columns.updatedAt || isTooLong || (isHeld && news === 'back'))
  if (wasDue && wakeAt > now) row.wakeAt = now
  if (isTooLong) row.lease = { ...lease, until }
}
