import { type ErrorCode, type ErrorFamily, errorCodes } from '../base/errors/codes.ts'
import { PerdureError } from '../base/errors/perdure-error.ts'

/** What scripts can rely on; documented in `docs/cli.md`. */
export const exitCodes = {
  ok: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  conflict: 4,
  unreachable: 5,
  interrupted: 130,
} as const

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

export function exitCodeOf(error: unknown): ExitCode {
  if (!PerdureError.isInstance(error) || !(error.code in errorCodes)) return exitCodes.failed
  return exceptions[error.code] ?? byFamily[errorCodes[error.code].family]
}

const byFamily: Readonly<Record<ErrorFamily, ExitCode>> = {
  usage: exitCodes.usage,
  not_found: exitCodes.notFound,
  conflict: exitCodes.conflict,
  determinism: exitCodes.conflict,
  model: exitCodes.failed,
  tool: exitCodes.failed,
  store: exitCodes.unreachable,
}

/** Nothing is wrong with how these were asked for. */
const exceptions: Partial<Record<ErrorCode, ExitCode>> = {
  rate_limited: exitCodes.unreachable,
  runtime_closed: exitCodes.unreachable,
  event_invalid: exitCodes.failed,
  event_unknown: exitCodes.failed,
  server_failed: exitCodes.failed,
}
