import { PerdureError } from '../../../src/base/errors/perdure-error.ts'
import { StoreError } from '../../../src/base/errors/store-errors.ts'

/** An error as its caller could read it. */
export type Failure = {
  readonly name: string
  readonly code: string | null
  readonly isStoreError: boolean
  /** The store does not say that nothing was written. */
  readonly isAmbiguous: boolean
  readonly message: string
}

export function describeFailure(error: unknown): Failure {
  const code = PerdureError.isInstance(error) ? error.code : null
  return {
    name: error instanceof Error ? error.name : typeof error,
    code,
    isStoreError: error instanceof StoreError,
    isAmbiguous: error instanceof StoreError ? error.ambiguous : code === null,
    message: error instanceof Error ? error.message : String(error),
  }
}
