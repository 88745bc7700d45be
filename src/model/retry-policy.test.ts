import { describe, expect, test } from 'vitest'
import { decideRetry, defaultRetryPolicy } from './fault.ts'

const retryable = { isRetryable: true, retryAfterMs: null }
const asks = (retryAfterMs: number) => ({ isRetryable: true, retryAfterMs })
const never = { isRetryable: false, retryAfterMs: 10 }

describe('decideRetry', () => {
  test.each([
    ['the first retry waits the base', retryable, 1, defaultRetryPolicy, 0, 500],
    ['each further one waits twice as long', retryable, 2, defaultRetryPolicy, 0, 1000],
    ['jitter takes off up to half', retryable, 1, defaultRetryPolicy, 0.999, 250],
    ['the wait has a ceiling', retryable, 9, { maxAttempts: 20, baseMs: 500, maxMs: 8000 }, 0, 8000],
    [
      'the number of doublings does not overflow',
      retryable,
      5000,
      { maxAttempts: 9999, baseMs: 500, maxMs: 8000 },
      0,
      8000,
    ],
    ['the last attempt is the last', retryable, 3, defaultRetryPolicy, 0, null],
    ['one attempt means no retry', retryable, 1, { maxAttempts: 1, baseMs: 500, maxMs: 8000 }, 0, null],
    ['retries can be switched off', retryable, 1, false as const, 0, null],
    ['what cannot get better is not tried again', never, 1, defaultRetryPolicy, 0, null],
    ['a provider that names a time is taken at its word', asks(12_345), 1, defaultRetryPolicy, 0.7, 12_345],
    ['also when it is shorter than the base', asks(3), 1, defaultRetryPolicy, 0.7, 3],
    ['also when it is at once', asks(0), 1, defaultRetryPolicy, 0.7, 0],
    ['no longer than a minute', asks(3_600_000), 1, defaultRetryPolicy, 0, 60_000],
    ['and not past the last attempt', asks(5), 3, defaultRetryPolicy, 0, null],
  ])('%s', (_, fault, attempt, policy, random, expected) => {
    expect(decideRetry(fault, attempt, policy, () => random)).toBe(expected)
  })
})
