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
