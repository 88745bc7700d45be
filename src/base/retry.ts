import { pause } from './abort.ts'
import { type Clock, delayAfter, storeDelays } from './clock.ts'
import { PerdureError } from './errors/perdure-error.ts'
import type { Logger } from './logger.ts'

/** The conversation is named in the warnings. */
type RetryContext = {
  readonly clock: Clock
  readonly warnOfStore: Logger['warn']
  readonly tenant: string
  readonly id: string
}

/** Asks the store until it answers: a turn does not fail because the store was away for a moment. Rejects when asking again is in vain. */
export async function retryStore<T>(
  ask: () => Promise<T>,
  { clock, warnOfStore, tenant, id }: RetryContext,
  signal: AbortSignal,
): Promise<T> {
  for (let failures = 1; ; failures += 1) {
    try {
      return await ask()
    } catch (error) {
      if (!PerdureError.isInstance(error) || !error.retryable) throw error
      const waitMs = delayAfter(failures, storeDelays)
      warnOfStore('the store failed; trying again', { tenant, id, error, waitMs })
      if (!(await pause(waitMs, { clock, signal }))) throw error
    }
  }
}
