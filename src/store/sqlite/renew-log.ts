import type { Database } from './database.ts'
import { busyError } from './sqlite-errors.ts'

/**
 * Writes the log out to the database file and begins it anew. Must be done after a failed sync: the kernel then takes pages for written that
 * never reached the disk, and no later sync tries them again, so what is appended after them would be lost with them.
 */
export function renewLog(db: Database): void {
  const outcome = db.get<{ busy: number }>('PRAGMA wal_checkpoint(TRUNCATE)')
  if (outcome?.busy !== 0) throw busyError()
}
