import type { ModelErrorCode } from '../base/errors/model-errors.ts'
import type { Redact } from '../base/redact/redactor.ts'
import { isRecord, textOf } from '../base/untrusted.ts'
import { retryAfterMs } from './retry-after.ts'

/** What is known, and may be told, of an attempt that went wrong. */
export type Fault = {
  readonly code: ModelErrorCode
  /** The provider's words, redacted; '' when it had none. */
  readonly problem: string
  readonly statusCode: number | null
  readonly isRetryable: boolean
  /** How long the provider asked to wait. */
  readonly retryAfterMs: number | null
}

/** Makes sense of whatever a provider threw or put into an `error` part: by shape, since it may come from another copy of its package. */
export function faultOf(error: unknown, now: number, redact: Redact): Fault {
  const { statusCode, isRetryable, responseHeaders } = isRecord(error) ? error : {}
  const status = typeof statusCode === 'number' ? statusCode : null
  const code = status === null ? codeByName(error) : codeByStatus(status)
  return {
    code,
    problem: problemOf(error, redact),
    statusCode: status,
    isRetryable: typeof isRetryable === 'boolean' ? isRetryable : canRetry(code, status),
    retryAfterMs: retryAfterMs(responseHeaders, now),
  }
}

/** A fault this package found itself. */
export function ownFault(code: ModelErrorCode, problem: string): Fault {
  return { code, problem, statusCode: null, isRetryable: true, retryAfterMs: null }
}

function codeByStatus(status: number): ModelErrorCode {
  if (status === 401 || status === 403) return 'model_unauthorized'
  if (status === 429 || status === 503 || status === 529) return 'model_overloaded'
  if (status === 408 || status === 409 || status >= 500) return 'model_failed'
  return status >= 400 ? 'model_rejected' : 'model_failed'
}

function canRetry(code: ModelErrorCode, status: number | null): boolean {
  if (code === 'model_failed') return status !== null && status >= 400
  return code === 'model_overloaded' || code === 'model_unreachable'
}

/** Without a status there is the kind of an error in the stream, or the system's code of a broken connection, often as a cause. */
function codeByName(error: unknown): ModelErrorCode {
  for (const { name, type, code, isRetryable } of chainOf(error)) {
    const words = [name, type, code].filter((word) => typeof word === 'string').join(' ')
    if (/overloaded|rate_limit|too_many_requests|resource_exhausted/i.test(words)) return 'model_overloaded'
    if (/authentication_error|permission_error|invalid_api_key|unauthenticated/i.test(words))
      return 'model_unauthorized'
    if (/invalid_request|context_length_exceeded/i.test(words)) return 'model_rejected'
    if (/\b(ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOST|ENET|UND_ERR)|TimeoutError|AbortError/.test(words)) {
      return 'model_unreachable'
    }
    if (/\b(api_error|server_error|internal_error|internal_server_error|timeout_error)\b/i.test(words))
      return 'model_unreachable'
    // What the AI SDK makes of a fetch that failed.
    if (isRetryable === true) return 'model_unreachable'
  }
  return 'model_failed'
}

function problemOf(error: unknown, redact: Redact): string {
  if (typeof error === 'string') return wordsOf(error, redact)
  for (const { message } of chainOf(error)) {
    const text = textOf(message)
    if (text) return wordsOf(text, redact)
  }
  return ''
}

/** As much of a provider's own words as an error needs: one line, redacted before it is cut. */
export function wordsOf(text: string, redact: Redact): string {
  const line = redact(text, { opaqueWords: true }).replace(/\s+/g, ' ').trim()
  return line.length > maxWords ? `${line.slice(0, maxWords)}...`.toWellFormed() : line
}

const maxWords = 500

/** The error, what it wraps, and what that wraps: a few levels, since an error may be its own cause. */
function chainOf(error: unknown): { readonly [key: string]: unknown }[] {
  const chain: { readonly [key: string]: unknown }[] = []
  for (let link = error; isRecord(link) && chain.length < 4; ) {
    chain.push(link)
    link = isRecord(link['error']) ? link['error'] : link['cause']
  }
  return chain
}
