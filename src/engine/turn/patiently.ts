import { pause } from '../../base/abort.ts'
import { PerdureError } from '../../base/errors/perdure-error.ts'
import type { TurnContext } from './turn-context.ts'

const firstPauseMs = 50
const longestPauseMs = 5_000

/** Asks the store until it answers: a turn does not fail because the store was away for a moment. Rejects when asking again is in vain. */
export async function retryStore<T>(
  ask: () => Promise<T>,
  { clock, warnOfStore, tenant, id }: Pick<TurnContext, 'clock' | 'warnOfStore' | 'tenant' | 'id'>,
  signal: AbortSignal,
): Promise<T> {
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    try {
      return await ask()
    } catch (error) {
      if (!PerdureError.isInstance(error) || !error.retryable) throw error
      warnOfStore('the store failed; trying again', { tenant, id, error, waitMs: pauseMs })
      if (!(await pause(pauseMs, { clock, signal }))) throw error
    }
  }
}
