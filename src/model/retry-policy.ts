import type { Fault } from './fault.ts'

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
  const delayMs = Math.min(policy.baseMs * 2 ** (attempt - 1), policy.maxMs)
  return Math.round(delayMs * (1 - random() / 2))
}
