import type { ErrorCode } from './codes.ts'

/** Base of everything Perdure throws. Compare `code`, or use `isInstance`, which also holds across two copies of the package. */
export class PerdureError extends Error {
  readonly code: ErrorCode
  /** Whether the same call may succeed later without a change by the caller. */
  readonly retryable: boolean

  constructor(code: ErrorCode, message: string, options: { cause?: unknown; retryable?: boolean } = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined)
    this.name = new.target.name
    this.code = code
    this.retryable = options.retryable ?? false
    Object.defineProperty(this, marker, { value: true })
  }

  /** Never throws, whatever it is given. */
  static isInstance(error: unknown): error is PerdureError {
    try {
      return typeof error === 'object' && error !== null && marker in error
    } catch {
      // A proxy that does not let itself be asked is none of ours.
      return false
    }
  }
}

const marker = Symbol.for('perdure.error')

/** Of this package, as in package.json. */
export const packageVersion = '0.1.0'

/**
 * An error whose message is meant for people: throw it in a tool, a step or a flow to have pages show what it says. Of any other error a page is told
 * only that something failed. Secrets are taken out of its message all the same.
 */
export class UserFacingError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'UserFacingError'
    markUserFacing(this)
  }

  /** Also holds across two copies of the package. */
  static isInstance(error: unknown): error is UserFacingError {
    try {
      return typeof error === 'object' && error !== null && Reflect.get(error, userFacingMarker) === true
    } catch {
      return false
    }
  }
}

const userFacingMarker = Symbol.for('perdure.userFacing')

export function markUserFacing(error: Error): void {
  Object.defineProperty(error, userFacingMarker, { value: true })
}
