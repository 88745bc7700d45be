import { delayAfter, jittered } from '../base/clock.ts'
import { ModelError, type ModelErrorCode } from '../base/errors/model-errors.ts'
import { isRecord, textOf } from '../base/json.ts'
import type { Redact } from '../base/redact/redactor.ts'
import type { ModelRef } from '../log/events.ts'

/** What is known of a failed attempt. Safe to show. */
export type Fault = {
  readonly code: ModelErrorCode
  /** The provider's text, redacted. Empty if there was none. */
  readonly problem: string
  readonly statusCode: number | null
  readonly isRetryable: boolean
  /** How long the provider asked to wait. */
  readonly retryAfterMs: number | null
}

/**
 * Classifies what a provider threw or sent in an `error` part. Checks its shape, since it may come from another copy of
 * its package.
 */
export function faultOf(error: unknown, now: number, redact: Redact): Fault {
  const { statusCode, isRetryable, responseHeaders } = isRecord(error) ? error : {}
  const status = typeof statusCode === 'number' ? statusCode : null
  const code = status === null ? codeByName(error) : codeByStatus(status)
  return {
    code,
    problem: problemOf(error, redact),
    statusCode: status,
    isRetryable: isRetryable === true || (canRetry(code, status) && (isRetryable !== false || isServerFault(status))),
    retryAfterMs: retryAfterMs(responseHeaders, now),
  }
}

/** Some providers mark an error that comes first in a stream as final, although the same status before the stream is not. */
function isServerFault(status: number | null): boolean {
  return status !== null && status >= 500
}

/**
 * Classifies what ended a stream that was open. The request was accepted, so anything but a refusal may go better the
 * next time. `hasBegun`: once something was shown, the interruption matters more than what broke the connection.
 */
export function streamFault(fault: Fault, hasBegun: boolean): Fault {
  const isRetryable = fault.code !== 'model_rejected' && fault.code !== 'model_unauthorized'
  const isBreak = fault.code === 'model_failed' || fault.code === 'model_unreachable'
  return { ...fault, isRetryable, code: hasBegun && isBreak ? 'model_interrupted' : fault.code }
}

/** A fault that this package detected itself. */
export function ownFault(code: ModelErrorCode, problem: string): Fault {
  return { code, problem, statusCode: null, isRetryable: true, retryAfterMs: null }
}

function codeByStatus(status: number): ModelErrorCode {
  if (status === 401 || status === 403) return 'model_unauthorized'
  if (status === 429) return 'model_rate_limited'
  if (status === 503 || status === 529) return 'model_overloaded'
  if (status === 504) return 'model_timed_out'
  if (status === 408 || status === 409 || status >= 500) return 'model_failed'
  return status >= 400 ? 'model_rejected' : 'model_failed'
}

function canRetry(code: ModelErrorCode, status: number | null): boolean {
  if (code === 'model_failed') return status !== null && status >= 400
  return transientCodes.has(code)
}

const transientCodes: ReadonlySet<ModelErrorCode> = new Set([
  'model_overloaded',
  'model_rate_limited',
  'model_timed_out',
  'model_unreachable',
])

/**
 * Without a status: by the error type in the stream, or by the system code of a broken connection, often in a cause.
 */
function codeByName(error: unknown): ModelErrorCode {
  for (const { name, type, code, isRetryable } of chainOf(error)) {
    const words = [name, type, code].filter((word) => typeof word === 'string').join(' ')
    if (/rate_limit|too_many_requests|resource_exhausted/i.test(words)) return 'model_rate_limited'
    if (/overloaded/i.test(words)) return 'model_overloaded'
    if (/\b(ETIMEDOUT|UND_ERR_(HEADERS|BODY|CONNECT)_TIMEOUT)\b|TimeoutError|timeout_error/.test(words))
      return 'model_timed_out'
    if (/authentication_error|permission_error|invalid_api_key|unauthenticated/i.test(words))
      return 'model_unauthorized'
    if (/invalid_request|context_length_exceeded/i.test(words)) return 'model_rejected'
    if (/\b(ECONN|EPIPE|ENOTFOUND|EAI_AGAIN|EHOST|ENET|UND_ERR)|AbortError/.test(words)) {
      return 'model_unreachable'
    }
    if (/\b(api_error|server_error|internal_error|internal_server_error)\b/i.test(words)) return 'model_unreachable'
    // The AI SDK sets this for a failed fetch.
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

/** One line of a provider's text, redacted before it is cut. */
export function wordsOf(text: string, redact: Redact): string {
  const line = redact(text, { opaqueWords: true }).replace(/\s+/g, ' ').trim()
  return line.length > maxWords ? `${line.slice(0, maxWords)}...`.toWellFormed() : line
}

const maxWords = 500

/** The error and its causes. A few levels only, since an error may be its own cause. */
function chainOf(error: unknown): { readonly [key: string]: unknown }[] {
  const chain: { readonly [key: string]: unknown }[] = []
  for (let link = error; isRecord(link) && chain.length < 4; ) {
    chain.push(link)
    link = isRecord(link['error']) ? link['error'] : link['cause']
  }
  return chain
}

/** How long the response headers ask to wait: `retry-after-ms`, or `retry-after` in seconds or as a date. */
export function retryAfterMs(headers: unknown, now: number): number | null {
  const exact = Number.parseFloat(header(headers, 'retry-after-ms') ?? '')
  if (Number.isFinite(exact)) return Math.max(0, exact)
  const value = header(headers, 'retry-after')?.trim() ?? ''
  if (/^-?\d+(\.\d+)?$/.test(value)) return Math.max(0, Number(value) * 1000)
  const date = Date.parse(value)
  return Number.isNaN(date) ? null : Math.max(0, date - now)
}

function header(headers: unknown, name: string): string | null {
  if (headers instanceof Headers) return headers.get(name)
  if (!isRecord(headers)) return null
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1]
  return typeof found === 'string' || typeof found === 'number' ? String(found) : null
}

/** `maxAttempts` includes the first one, for each model. */
export type RetryPolicy = { readonly maxAttempts: number; readonly baseMs: number; readonly maxMs: number }

export const defaultRetryPolicy: RetryPolicy = { maxAttempts: 3, baseMs: 500, maxMs: 8_000 }

/** The longest delay, even if a provider asks for more. */
const longestRetryAfterMs = 60_000

/**
 * The delay before the next attempt, or null for no further attempt. Doubles from `baseMs` up to `maxMs`, less a random
 * part of up to half, so that callers that failed together do not retry together. A delay that the provider asks for
 * takes precedence.
 */
export function decideRetry(
  fault: Pick<Fault, 'isRetryable' | 'retryAfterMs'>,
  attempt: number,
  policy: RetryPolicy | false,
  random: () => number,
): number | null {
  if (policy === false || !fault.isRetryable || attempt >= policy.maxAttempts) return null
  if (fault.retryAfterMs !== null) return Math.min(fault.retryAfterMs, longestRetryAfterMs)
  const delayMs = delayAfter(attempt, { firstMs: policy.baseMs, mostMs: policy.maxMs })
  return Math.round(jittered(delayMs, random))
}

export type ModelFault = { readonly model: ModelRef; readonly fault: Fault }

/** The error of a model call. With fallback models it lists every attempt, and the last one decides the code. */
export function modelError(faults: readonly ModelFault[]): ModelError {
  const { model, fault } = faults.at(-1)!
  const told = faults.map(tell).join(' Then ')
  return new ModelError(fault.code, `${told} ${advice[fault.code]}`, {
    ...model,
    statusCode: fault.statusCode,
    retryable: faults.some((tried) => tried.fault.isRetryable),
  })
}

function tell({ model, fault }: ModelFault): string {
  const status = fault.statusCode === null ? '' : ` (status ${fault.statusCode})`
  const problem = fault.problem === '' ? '' : `: ${fault.problem.replace(/[.\s]+$/, '')}`
  return `${model.provider}/${model.modelId} ${happened[fault.code]}${status}${problem}.`
}

const happened: Record<ModelErrorCode, string> = {
  model_failed: 'failed',
  model_interrupted: 'stopped in the middle of its answer',
  model_overloaded: 'is overloaded',
  model_rate_limited: 'has reached its rate limit',
  model_rejected: 'refused the request',
  model_timed_out: 'took too long',
  model_unauthorized: 'did not accept the credentials',
  model_unreachable: 'could not be reached',
}

const advice: Record<ModelErrorCode, string> = {
  model_failed: 'See what the provider says, or add a fallback model.',
  model_interrupted: 'The part that arrived is kept. Send the message again.',
  model_overloaded: 'Try again later, or add a fallback model.',
  model_rate_limited: 'Try again later, raise the limit with the provider, or add a fallback model.',
  model_rejected: 'Check the settings, the tools and the length of the conversation against what this model accepts.',
  model_timed_out: "Try again, raise the agent's timeouts, or add a fallback model.",
  model_unauthorized: "Check the provider's key and what it may use.",
  model_unreachable: "Check the network and the provider's address, or try again.",
}
