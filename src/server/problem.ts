import { errorCodes } from '../base/errors/codes.ts'
import { PerdureError } from '../base/errors/perdure-error.ts'
import { MethodNotAllowedError, RateLimitedError, ServerFailedError } from '../base/errors/server-errors.ts'
import {
  JobsUnsupportedError,
  LimitsUnsupportedError,
  OutboxUnsupportedError,
  SteeringUnsupportedError,
  UpkeepUnsupportedError,
} from '../base/errors/store-errors.ts'
import type { ServerSettings } from './server-options.ts'

/** The response for an error: its code and advice, or only that the server failed. */
export function problemOf(error: unknown): Response {
  const body = problemIn(error)
  return new Response(JSON.stringify(body), {
    status: body.status,
    headers: { 'content-type': 'application/problem+json', ...headersOf(error) },
  })
}

/** The body of an error response (RFC 9457). */
export type Problem = {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly code: string
  readonly detail: string
  readonly retryable: boolean
}

export function problemIn(error: unknown): Problem {
  const known = PerdureError.isInstance(error) && error.code in errorCodes ? error : new ServerFailedError()
  const { status } = errorCodes[known.code]
  const isTold = status < 500 || known.code === 'not_ready' || known.code === 'studio_not_built'
  return {
    type: `urn:perdure:error:${known.code}`,
    title: known.code.replaceAll('_', ' '),
    status,
    code: known.code,
    detail: isTold ? known.message : (hidden[known.code] ?? new ServerFailedError().message),
    // When this server is closing, a retry may reach another one.
    retryable: known.retryable || status === 503,
  }
}

/** The original messages may name files, hosts or SQL. Clients get these texts instead. */
const hidden: Partial<Record<string, string>> = {
  authorize_failed: 'Whether this is allowed could not be found out. Nothing was done. Try again.',
  conversation_unreadable:
    'The conversation is damaged in the store. Ask the operator of the server to run perdure doctor.',
  snapshot_delete_failed: 'The snapshot of the conversation could not be deleted. Nothing was deleted. Try again.',
  snapshot_load_failed: 'The snapshot of the conversation could not be loaded. Nothing was sent. Try again.',
  store_failed: 'The store failed, and the change may have been made. Read the log, or send the same key again.',
  store_busy: 'The store is busy. Nothing was written. Try again.',
  store_closed: 'The server is shutting down. Try again.',
  runtime_closed: 'The server is shutting down. Try again.',
  upkeep_unsupported: new UpkeepUnsupportedError().message,
  jobs_unsupported: new JobsUnsupportedError().message,
  outbox_unsupported: new OutboxUnsupportedError().message,
  limits_unsupported: new LimitsUnsupportedError().message,
  steering_unsupported: new SteeringUnsupportedError().message,
}

function headersOf(error: unknown): Record<string, string> {
  if (error instanceof RateLimitedError) return { 'retry-after': String(Math.ceil(error.retryAfterMs / 1000)) }
  if (error instanceof MethodNotAllowedError) return { allow: error.allowed.join(', ') }
  return PerdureError.isInstance(error) && error.code === 'unauthenticated' ? { 'www-authenticate': 'Bearer' } : {}
}

/** Logs failures of the server. Must not log headers, bodies or queries: they may contain secrets. */
export function logFailure(error: unknown, request: Request, { logger }: Pick<ServerSettings, 'logger'>): void {
  if (PerdureError.isInstance(error) && errorCodes[error.code]?.status < 500) return
  const details = { method: request.method, path: new URL(request.url).pathname, error }
  // Expected while a runtime closes; clients reconnect once before they give up.
  if (PerdureError.isInstance(error) && error.code === 'runtime_closed')
    logger.debug('a request arrived after the runtime closed', details)
  else logger.error('a request failed', details)
}
