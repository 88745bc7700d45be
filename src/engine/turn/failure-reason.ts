import { PerdureError } from '../../base/errors/perdure-error.ts'

/** Why a turn failed, as its end tells it: a code of errors.md first. */
export function failureReason(error: unknown): string {
  if (PerdureError.isInstance(error)) return `${error.code}: ${error.message}`
  return `internal_error: ${error instanceof Error ? error.message : String(error)}`
}
