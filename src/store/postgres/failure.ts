import { PerdureError } from '../../base/errors/perdure-error.ts'
import { InvalidArgumentError, StoreError } from '../../base/errors/store-errors.ts'

/**
 * What a failed attempt means. `unreachable`: nothing was sent. `rolled_back`: the server undid it, and the same attempt may succeed.
 * `lost`: the connection broke after it was sent, so it may have happened. `refused`: the server refused it, and will again.
 */
export type FailureKind = 'unreachable' | 'rolled_back' | 'lost' | 'refused'

export type Failure = { readonly kind: FailureKind; readonly error: Error }

/** `isSent`: whether the server may have received the statement. */
export function failureOf(error: unknown, isSent: boolean): Failure {
  if (PerdureError.isInstance(error)) return { kind: 'refused', error }
  if (isUnreadableUrl(error)) {
    // Without its cause, which quotes the connection string with the password.
    return { kind: 'refused', error: new InvalidArgumentError('connectionString', 'cannot be read; check its parts') }
  }
  if (isBug(error)) return { kind: 'refused', error }
  const state = sqlState(error)
  if (state === null || isFatal(error)) {
    if (isSent) return { kind: 'lost', error: lost(error) }
    const isHopeless = state !== null && (state.startsWith('28') || state.startsWith('3D'))
    return { kind: isHopeless ? 'refused' : 'unreachable', error: unreachable(error, state, !isHopeless) }
  }
  if (state === '40001' || state === '40P01') return { kind: 'rolled_back', error: refused(error, state, true) }
  return { kind: 'refused', error: refused(error, state, transientClasses.has(state.slice(0, 2))) }
}

/** Nothing was sent: every connection of the pool was in use. */
export function poolBusy(max: number, waitedMs: number): StoreError {
  const connections = max === 1 ? 'The 1 connection of the pool was' : `All ${max} connections of the pool were`
  return new StoreError(
    `${connections} busy for ${waitedMs} ms. Nothing was written. Raise 'max' of postgresStore, or find what holds them.`,
    { retryable: true },
  )
}

/** A row with the same name exists already; nothing was written. */
export function isDuplicate(error: unknown): boolean {
  return error instanceof StoreError && sqlState(error.cause) === '23505'
}

/** SQLSTATE classes for resources, operator intervention, system errors, locks, and a server that became a standby. */
const transientClasses = new Set(['53', '57', '58', '55', '25'])

function lost(cause: unknown): StoreError {
  return new StoreError(
    'The connection to Postgres broke before the answer came: the write may have been made. Read the log, or send the same key again.',
    { cause, ambiguous: true },
  )
}

function unreachable(cause: unknown, state: string | null, retryable: boolean): StoreError {
  const why = state === null ? '' : ` (SQLSTATE ${state})`
  return new StoreError(
    `Postgres cannot be reached${why}. Nothing was written. Check the connection string and the server.`,
    { cause, retryable },
  )
}

function refused(cause: unknown, state: string, retryable: boolean): StoreError {
  return new StoreError(
    `Postgres refused a statement (SQLSTATE ${state}). Nothing was written. Look up the state and fix its cause.`,
    {
      cause,
      retryable,
    },
  )
}

/** Errors from the server carry a severity; network errors have a `code` too, but no severity. */
function sqlState(error: unknown): string | null {
  if (typeof error !== 'object' || error === null || !('severity' in error)) return null
  return 'code' in error && typeof error.code === 'string' ? error.code : 'XX000'
}

/** Whether the server closed the connection with this error. */
function isFatal(error: unknown): boolean {
  const severity = (error as { severity?: unknown }).severity
  return severity === 'FATAL' || severity === 'PANIC'
}

/** Networks and servers fail with plain errors; these types come from bugs in code. */
function isBug(error: unknown): error is Error {
  return error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError
}

function isUnreadableUrl(error: unknown): boolean {
  return error instanceof TypeError && 'code' in error && error.code === 'ERR_INVALID_URL'
}
