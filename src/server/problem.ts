import { errorCodes } from '../errors/codes.ts'
import { PerdureError } from '../errors/perdure-error.ts'
import { MethodNotAllowedError, RateLimitedError, ServerFailedError } from '../errors/server-errors.ts'

/** The answer for whatever was thrown: its code and advice, or nothing but that the server failed. */
export function problemOf(error: unknown): Response {
  const known = PerdureError.isInstance(error) && error.code in errorCodes ? error : new ServerFailedError()
  const { status } = errorCodes[known.code]
  const body = {
    type: `urn:perdure:error:${known.code}`,
    title: known.code.replaceAll('_', ' '),
    status,
    code: known.code,
    detail: status < 500 ? known.message : (hidden[known.code] ?? new ServerFailedError().message),
    // This server may be closing, but there will be another.
    retryable: known.retryable || status === 503,
  }
  return new Response(JSON.stringify(body), {
    status,
    headers: { 'content-type': 'application/problem+json', ...headersOf(known) },
  })
}

/** Messages of these may name files, hosts or statements: what a caller may know is said here. */
const hidden: Partial<Record<string, string>> = {
  store_failed: 'The store failed, and the change may have been made. Read the log, or send the same key again.',
  store_busy: 'The store is busy. Nothing was written. Try again.',
  store_closed: 'The server is shutting down. Try again.',
  runtime_closed: 'The server is shutting down. Try again.',
}

function headersOf(error: PerdureError): Record<string, string> {
  if (error instanceof RateLimitedError) return { 'retry-after': String(Math.ceil(error.retryAfterMs / 1000)) }
  if (error instanceof MethodNotAllowedError) return { allow: error.allowed.join(', ') }
  return error.code === 'unauthenticated' ? { 'www-authenticate': 'Bearer' } : {}
}
