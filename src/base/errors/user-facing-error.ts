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
      return typeof error === 'object' && error !== null && Reflect.get(error, marker) === true
    } catch {
      return false
    }
  }
}

const marker = Symbol.for('perdure.userFacing')

export function markUserFacing(error: Error): void {
  Object.defineProperty(error, marker, { value: true })
}
