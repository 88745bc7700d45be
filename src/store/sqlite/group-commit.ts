import { StoreBusyError } from '../../base/errors/store-errors.ts'
import { failpoint } from '../../base/failpoint.ts'
import type { Connection } from './connection.ts'
import type { Database } from './database.ts'
import { BusyRetry, isBusy } from './failure.ts'
import { LogRoom } from './log-room.ts'

/** Limits how long one group holds the file and the event loop. */
const maxGroupSize = 512

type Job = {
  readonly work: (db: Database) => unknown
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
  readonly retry: BusyRetry
  /** Its group failed: it gets a transaction of its own, so that only the failing job fails. */
  isAlone: boolean
}

/**
 * All writes of a store. Writes requested in one turn of the event loop share one transaction and one sync to disk. Jobs run in the order they came, and each
 * sees what the jobs before it wrote.
 */
export class GroupCommit {
  readonly #connection: Connection
  readonly #room: LogRoom
  readonly #queue: Job[] = []
  #isScheduled = false

  constructor(connection: Connection) {
    this.#connection = connection
    this.#room = new LogRoom(connection)
  }

  /** Resolves when the result is on disk. `work` must be synchronous, and must decide to refuse before it writes; it may run more than once. */
  write<T>(work: (db: Database) => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const retry = new BusyRetry(this.#connection.busyTimeoutMs)
      this.#queue.push({ work, resolve: resolve as (result: unknown) => void, reject, retry, isAlone: false })
      this.#schedule()
    })
  }

  /** Runs after everything that is ready to run, so that all writes of this turn are in the group. */
  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => this.#flush())
  }

  #flush(): void {
    const waitMs = this.#run(this.#takeGroup())
    this.#isScheduled = this.#queue.length > 0
    if (!this.#isScheduled) return
    if (waitMs === null) setImmediate(() => this.#flush())
    else setTimeout(() => this.#flush(), waitMs)
  }

  #takeGroup(): Job[] {
    const firstAlone = this.#queue.slice(0, maxGroupSize).findIndex((job) => job.isAlone)
    const size = firstAlone === 0 ? 1 : firstAlone < 0 ? maxGroupSize : firstAlone
    return this.#queue.splice(0, size)
  }

  /** Returns how long to wait before the next attempt, or null. */
  #run(group: readonly Job[]): number | null {
    let stage: 'begin' | 'work' | 'commit' = 'begin'
    let db: Database | null = null
    try {
      db = this.#connection.open()
      db.run('BEGIN IMMEDIATE')
      stage = 'work'
      const results = group.map((job) => job.work(db!))
      failpoint('store.inside_transaction')
      stage = 'commit'
      db.run('COMMIT')
      // Durable from here: every change of the group. A crash before this point leaves none of them.
      failpoint('store.after_transaction')
      for (const [index, job] of group.entries()) job.resolve(results[index])
      this.#room.afterCommit(db)
      return null
    } catch (error) {
      if (stage !== 'begin') db?.rollBack()
      if (isBusy(error)) return this.#putBack(group, error)
      const reason = this.#connection.failed(error, { ambiguous: stage === 'commit' })
      if (stage === 'work' && group.length > 1) {
        this.#queue.unshift(...group.map((job) => ({ ...job, isAlone: true })))
      } else for (const job of group) job.reject(reason)
      return null
    }
  }

  #putBack(group: readonly Job[], error: unknown): number {
    const waiting: Job[] = []
    let waitMs = Number.POSITIVE_INFINITY
    for (const job of group) {
      const next = job.retry.next(error)
      if (next instanceof StoreBusyError) job.reject(next)
      else {
        waiting.push(job)
        waitMs = Math.min(waitMs, next)
      }
    }
    this.#queue.unshift(...waiting)
    return waitMs
  }
}
