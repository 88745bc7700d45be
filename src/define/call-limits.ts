import { numberProblems, unknownKeys } from '../base/errors/read-options.ts'
import { isId } from '../store/checks.ts'
import type { RetrySettings, TimeoutSettings } from './agent.ts'

/** How often a model is called for one message, with defaults filled in. */
export function retrySettings(retry: Partial<RetrySettings> | false = {}): RetrySettings | false {
  if (retry === false) return false
  const { maxAttempts = 3, baseMs = 500, maxMs = 8_000 } = retry
  return Object.freeze({ maxAttempts, baseMs, maxMs })
}

/**
 * How long each attempt may take, with defaults filled in. Some healthy models think for minutes without a chunk. The
 * `fetch` of Node gives up after 5 minutes of silence, so a limit below that decides.
 */
export function timeoutSettings(timeouts: Partial<TimeoutSettings> = {}): TimeoutSettings {
  const { firstChunkMs = 240_000, betweenChunksMs = 240_000, totalMs = 1_800_000 } = timeouts
  return Object.freeze({ firstChunkMs, betweenChunksMs, totalMs })
}

const retryNumbers = { maxAttempts: 1, baseMs: 0, maxMs: 0 }
const timeoutNumbers = { firstChunkMs: 1, betweenChunksMs: 1, totalMs: 1 }

type Given = { readonly [key: string]: unknown }

/** Lists what is wrong with `retry`, `timeouts`, `limits` and `account` of an agent. */
export function callLimitProblems({ retry = {}, timeouts = {}, limits = {}, account }: Given): string[] {
  return [
    ...(retry === false ? [] : problemsIn('retry', retry, retryNumbers)),
    ...problemsIn('timeouts', timeouts, timeoutNumbers),
    ...problemsIn('limits', limits, { turns: 1 }),
    ...(account === undefined || isId(account)
      ? []
      : ["'account' must be a name of 1 to 255 bytes without control characters"]),
  ]
}

function problemsIn(name: string, given: unknown, least: { readonly [key: string]: number }): string[] {
  return [...unknownKeys(given, Object.keys(least)), ...numberProblems(Object(given), least)].map(
    (problem) => `'${name}': ${problem}`,
  )
}
