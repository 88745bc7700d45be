import { pause } from '../../base/abort.ts'
import { StoreBusyError, StoreError } from '../../base/errors/store-errors.ts'
import { cacheSize, Database } from './database.ts'
import { asStoreError, BusyRetry, busyError, isBusy, isDiskError, isHarmless } from './failure.ts'
import { migrate, refuseForeignFile } from './migrate.ts'

/** The one connection of a store. The first use opens it; so does the next use after an error it cannot recover from. */
export class Connection {
  readonly path: string
  readonly busyTimeoutMs: number
  #database: Database | null = null
  /** A sync may have failed: what is in the write-ahead log may not be on disk. */
  #isLogSuspect = false

  constructor(path: string, busyTimeoutMs: number) {
    this.path = path
    this.busyTimeoutMs = busyTimeoutMs
  }

  /** Throws SQLite's error; `isBusy` says whether to try again. */
  open(): Database {
    if (this.#database?.isBroken) this.drop()
    this.#database ??= openDatabase(this.path)
    if (this.#isLogSuspect) {
      renewLog(this.#database)
      this.#isLogSuspect = false
    }
    return this.#database
  }

  /** Reads what is committed. `work` runs synchronously, and again when another process held the file. */
  async read<T>(work: (db: Database) => T): Promise<T> {
    let retry: BusyRetry | null = null
    for (;;) {
      try {
        return work(this.open())
      } catch (error) {
        if (!isBusy(error)) throw this.failed(error)
        retry ??= new BusyRetry(this.busyTimeoutMs)
        const waitMs = retry.next(error)
        if (waitMs instanceof StoreBusyError) throw waitMs
        await pause(waitMs)
      }
    }
  }

  /** Returns the error for the caller. The next use opens the file again if this connection cannot be trusted. */
  failed(error: unknown, options?: { ambiguous: boolean }): unknown {
    if (isDiskError(error)) this.#isLogSuspect = true
    if (!isHarmless(error)) this.drop()
    return asStoreError(error, this.path, options)
  }

  drop(): void {
    const database = this.#database
    this.#database = null
    try {
      database?.close()
    } catch {
      // The connection is dropped because it failed; an error while closing it adds nothing.
    }
  }

  close(): void {
    const database = this.#database
    this.#database = null
    database?.close()
  }
}

/** Opens the file with the settings that every promise of the store depends on. Throws SQLite's error, also when the file is busy. */
export function openDatabase(path: string): Database {
  // Before anything that writes: another program's file must not change.
  refuseForeignFile(path)
  const db = new Database(path)
  try {
    // Waiting inside SQLite would block the event loop: the callers retry with timers.
    db.exec(`PRAGMA busy_timeout = 0; ${cacheSize}; PRAGMA temp_store = MEMORY`)
    // On macOS `fsync` alone may leave data in the cache of the disk. Elsewhere the second setting changes nothing.
    db.exec('PRAGMA synchronous = FULL; PRAGMA fullfsync = ON')
    // Read to its end: only there does SQLite report that the change of mode did not reach the disk.
    const journal = db.all<{ journal_mode: string }>('PRAGMA journal_mode = WAL')[0]?.journal_mode
    if (journal !== 'wal') {
      throw new StoreError(
        `The file system of '${path}' cannot hold a write-ahead log (journal mode is '${journal}'). Put the store on a local disk.`,
        { retryable: false },
      )
    }
    const isNew = migrate(db, path)
    // Events that a process wrote but did not sync before it died become visible now; they must be on disk before any reader gets them.
    if (!isNew) db.get('PRAGMA wal_checkpoint(PASSIVE)')
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/**
 * Writes the log into the database file and starts a new log. Must run after a failed sync: the kernel then treats pages as written that never reached the
 * disk, and no later sync retries them, so everything appended after them would be lost with them.
 */
export function renewLog(db: Database): void {
  const outcome = db.get<{ busy: number }>('PRAGMA wal_checkpoint(TRUNCATE)')
  if (outcome?.busy !== 0) throw busyError()
}
