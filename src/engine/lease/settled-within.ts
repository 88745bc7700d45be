import type { Clock } from '../../base/clock.ts'
import { withTimeout } from '../../base/with-timeout.ts'

/** Resolves when all have settled, or after `ms`. */
export async function settledWithin(ms: number, promises: readonly Promise<unknown>[], clock: Clock): Promise<void> {
  await withTimeout(Promise.allSettled(promises), ms, clock, () => [])
}
