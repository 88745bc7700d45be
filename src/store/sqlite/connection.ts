import { StoreBusyError } from '../../base/errors/store-errors.ts'
import { BusyRetry, pause } from './busy-retry.ts'
import type { Database } from './database.ts'
import { openDatabase } from './open-database.ts'
import { renewLog } from './renew-log.ts'
import { asStoreError, isBusy, isDiskError, isHarmless } from './sqlite-errors.ts'

/** The one connection of a store: opened by its first use, and again after an error it cannot go on from. */
export class Connection {
  readonly path: string
  readonly busyTimeoutMs: number
  #database: Database | null = null
  /** A sync may have failed: what is in the log may not be on disk. */
  #isLogSuspect = false

  constructor(path: string, busyTimeoutMs: number) {
    this.path = path
    this.busyTimeoutMs = busyTimeoutMs
  }

  /** Throws what SQLite says; `isBusy` tells whether to come back. */
  open(): Database {
    if (this.#database?.isBroken) this.drop()
    this.#database ??= openDatabase(this.path)
    if (this.#isLogSuspect) {
      renewLog(this.#database)
      this.#isLogSuspect = false
    }
    return this.#database
  }

  /** Reads what is committed. `work` runs at once, and again when another process was in the way. */
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

  /** Returns what to tell the caller. The next use opens the file again where this connection cannot be trusted. */
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
      // It is given up because it failed; what it says while closing adds nothing.
    }
  }

  close(): void {
    const database = this.#database
    this.#database = null
    database?.close()
  }
}
