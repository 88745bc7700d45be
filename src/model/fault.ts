import { delayAfter, jittered } from '../base/clock.ts'
import { ModelError, type ModelErrorCode } from '../base/errors/model-errors.ts'
import { isRecord, textOf } from '../base/json.ts'
import type { Redact } from '../base/redact/redactor.ts'
import type { ModelRef } from '../log/events.ts'

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

/** How long the headers of an answer ask to wait: `retry-after-ms`, or `retry-after` in seconds or as a date. */
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

/** `maxAttempts` counts the first one, for each model. */
export type RetryPolicy = { readonly maxAttempts: number; readonly baseMs: number; readonly maxMs: number }

export const defaultRetryPolicy: RetryPolicy = { maxAttempts: 3, baseMs: 500, maxMs: 8_000 }

/** A provider that asks for more is tried again after this. */
const longestRetryAfterMs = 60_000

/**
 * How long to wait before the next attempt; null when there is to be none. Doubles from `baseMs` up to `maxMs`, of which a random half is
 * left out, so that callers that failed together do not come back together. A provider that names a time is taken at its word.
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

/** The error of a model call. With fallback models all that was tried is told, and the last one decides the code. */
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
  model_overloaded: 'is overloaded or its rate limit is reached',
  model_rejected: 'refused the request',
  model_unauthorized: 'did not accept the credentials',
  model_unreachable: 'could not be reached',
}

const advice: Record<ModelErrorCode, string> = {
  model_failed: 'See what the provider says, or add a fallback model.',
  model_interrupted: 'What had come is kept. Send the message again.',
  model_overloaded: 'Try again later, raise the limit, or add a fallback model.',
  model_rejected: 'Check the settings, the tools and the length of the conversation against what this model takes.',
  model_unauthorized: "Check the provider's key and what it may use.",
  model_unreachable: "Check the network and the provider's address, or try again.",
}
