import { StoreError } from '../../base/errors/store-errors.ts'
import { Database } from './database.ts'
import { migrate } from './migrations.ts'
import { refuseForeignFile } from './own-file.ts'

/** Opens the file with the settings every promise of the store rests on. Throws what SQLite says, also that it is busy. */
export function openDatabase(path: string): Database {
  // Before anything that writes: what is another program's must stay as it is.
  refuseForeignFile(path)
  const db = new Database(path)
  try {
    // Waiting inside SQLite would block the event loop: whoever calls retries with timers.
    db.exec(
      'PRAGMA busy_timeout = 0; PRAGMA synchronous = FULL; PRAGMA cache_size = -16000; PRAGMA temp_store = MEMORY',
    )
    // Read to its end: only there SQLite tells that the change of mode did not reach the disk.
    const journal = db.all<{ journal_mode: string }>('PRAGMA journal_mode = WAL')[0]?.journal_mode
    if (journal !== 'wal') {
      throw new StoreError(
        `The file system of '${path}' cannot hold a write-ahead log (journal mode is '${journal}'). Put the store on a local disk.`,
        { retryable: false },
      )
    }
    migrate(db, path)
    // What a process wrote and did not live to sync is visible after it; it must be on disk before anybody is told of it.
    db.get('PRAGMA wal_checkpoint(PASSIVE)')
    return db
  } catch (error) {
    db.close()
    throw error
  }
}
