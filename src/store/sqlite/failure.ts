import { existsSync } from 'node:fs'
import { dirname, sep } from 'node:path'
import { PerdureError } from '../../base/errors/perdure-error.ts'
import { StoreBusyError, StoreError } from '../../base/errors/store-errors.ts'

/** Primary result codes; extended codes have them in their low byte. */
const sqlite = {
  error: 1,
  perm: 3,
  busy: 5,
  locked: 6,
  readonly: 8,
  ioerr: 10,
  corrupt: 11,
  full: 13,
  cantopen: 14,
  protocol: 15,
  toobig: 18,
  constraint: 19,
  mismatch: 20,
  auth: 23,
  range: 25,
  notadb: 26,
} as const

/** Another connection holds a lock; the same call may succeed in a moment. `protocol` is a race for the log's locks. */
export function isBusy(error: unknown): boolean {
  const code = primaryCode(error)
  return code === sqlite.busy || code === sqlite.locked || code === sqlite.protocol
}

/** For cases that SQLite reports in a row instead of an error. */
export function busyError(): Error {
  return Object.assign(new Error('database is locked'), { code: 'ERR_SQLITE_ERROR', errcode: sqlite.busy })
}

/** A read, a write or a sync failed. */
export function isDiskError(error: unknown): boolean {
  return primaryCode(error) === sqlite.ioerr
}

/** Whether a connection can continue after this error and a rollback. For any other error that is not known. */
export function isHarmless(error: unknown): boolean {
  if (!isSqliteError(error)) return true
  const code = primaryCode(error)
  return harmless.has(code)
}

const harmless: ReadonlySet<number | null> = new Set([
  sqlite.error,
  sqlite.full,
  sqlite.toobig,
  sqlite.constraint,
  sqlite.mismatch,
  sqlite.range,
])

/** The error for the caller. Perdure's own errors and programming errors pass unchanged; errors of SQLite never do. */
export function asStoreError(error: unknown, path: string, { ambiguous = false } = {}): unknown {
  if (PerdureError.isInstance(error) || !isSqliteError(error)) return error
  const code = primaryCode(error)
  const reason = (error as Error).message
  return new StoreError(`The store '${path}' failed: ${reason}. ${adviceFor(code, path)}`, {
    cause: error,
    ambiguous,
    retryable: !lasting.has(code),
  })
}

/** Errors that do not go away by themselves. */
const lasting: ReadonlySet<number | null> = new Set([sqlite.corrupt, sqlite.notadb, sqlite.toobig])

function adviceFor(code: number | null, path: string): string {
  switch (code) {
    case sqlite.full:
      return 'Free some disk space; the store then continues by itself.'
    case sqlite.readonly:
    case sqlite.perm:
    case sqlite.auth:
      return 'Make the file and its folder writable for this process; the store then continues by itself.'
    case sqlite.cantopen:
      return adviceForOpening(path)
    case sqlite.ioerr:
      return 'Check that the disk works and has free space; the store opens the file again with the next call.'
    case sqlite.corrupt:
      return 'The file is damaged. Stop all processes that use it, and restore it from a backup.'
    case sqlite.notadb:
      return 'It is not an SQLite database. Give the path of another file.'
    case sqlite.toobig:
      return 'The value is larger than SQLite can hold. Split it.'
    default:
      return 'Nothing was acknowledged. Try again.'
  }
}

function adviceForOpening(path: string): string {
  const folder = dirname(path)
  if (!existsSync(folder)) return `The folder '${folder}' does not exist. Create it, or correct the path.`
  // Only a folder has entries.
  if (existsSync(`${path}${sep}`)) return 'It is a folder. Give the path of a file.'
  return 'Check that this process may read and write the file and its folder.'
}

/** Errors of `node:sqlite`: SQLite's own, and the binding's errors about a closed connection or a value it cannot read. */
function isSqliteError(error: unknown): boolean {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined
  return code === 'ERR_SQLITE_ERROR' || code === 'ERR_INVALID_STATE' || code === 'ERR_OUT_OF_RANGE'
}

function primaryCode(error: unknown): number | null {
  if (!isSqliteError(error)) return null
  const { errcode } = error as { errcode?: number }
  return errcode === undefined ? null : errcode & 0xff
}

const shortestMs = 1
const longestMs = 12

/** Paces the attempts of one call while other processes hold the file. */
export class BusyRetry {
  readonly #timeoutMs: number
  #since: number | null = null
  #attempts = 0

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs
  }

  /** Records that an attempt found the file busy. Returns how long to wait, or the error when the time is up. */
  next(cause: unknown): number | StoreBusyError {
    const now = performance.now()
    // Counted from the first refusal: waiting within this process is not the other processes' doing.
    this.#since ??= now
    const waitedMs = Math.round(now - this.#since)
    if (waitedMs >= this.#timeoutMs && this.#attempts > 0) return new StoreBusyError(waitedMs, { cause })
    this.#attempts += 1
    // Random, so that processes that were refused together do not retry together.
    return shortestMs + Math.random() * Math.min(longestMs, this.#attempts)
  }
}
