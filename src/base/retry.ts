import { pause } from './abort.ts'
import { type Clock, delayAfter, storeDelays } from './clock.ts'
import { PerdureError } from './errors/perdure-error.ts'
import type { Logger } from './logger.ts'

type RetryContext = { readonly clock: Clock; readonly warnOfStore: Logger['warn'] }

/**
 * Repeats a store request until it is answered, so that a short outage does not fail a turn. Rejects on errors that are
 * not retryable. The warnings name `ref`.
 */
export async function retryStore<T>(
  ask: () => Promise<T>,
  { clock, warnOfStore }: RetryContext,
  ref: { readonly tenant: string; readonly id: string },
  signal: AbortSignal,
): Promise<T> {
  for (let failures = 1; ; failures += 1) {
    try {
      return await ask()
    } catch (error) {
      if (!PerdureError.isInstance(error) || !error.retryable) throw error
      const waitMs = delayAfter(failures, storeDelays)
      warnOfStore('the store failed; trying again', { ...ref, error, waitMs })
      if (!(await pause(waitMs, { clock, signal }))) throw error
    }
  }
}
