import type { ErrorCode } from './codes.ts'

/**
 * The base class of all errors that Perdure throws. Compare `code`, or use `isInstance`, which also works across two
 * copies of the package.
 */
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

  /** Never throws. */
  static isInstance(error: unknown): error is PerdureError {
    try {
      return typeof error === 'object' && error !== null && marker in error
    } catch {
      // A proxy whose traps throw is not a PerdureError.
      return false
    }
  }
}

const marker = Symbol.for('perdure.error')

/** The version in package.json. */
export const packageVersion = '0.2.0'

/**
 * An error whose message is meant for users. Throw it in a tool, a step or a flow to show its text on pages. For any
 * other error, pages only see that something failed. Secrets are redacted from its message too.
 */
export class UserFacingError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'UserFacingError'
    markUserFacing(this)
  }

  /** Also works across two copies of the package. */
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
