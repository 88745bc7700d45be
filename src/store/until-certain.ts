import type { Clock } from '../base/clock.ts'
import type { Lease } from './lease.ts'

const shortestMs = 20
const longestMs = 1_000

/**
 * For what must not begin once another process may have the conversation. True: it may, now; what follows must not wait for anything. False: whoever waited
 * does not want to any more. In between the lease is renewed, for as long as the store takes.
 */
export async function untilCertain(lease: Lease, clock: Clock, isCalledOff: () => boolean): Promise<boolean> {
  for (let pauseMs = shortestMs; !isCalledOff(); pauseMs = Math.min(longestMs, pauseMs * 2)) {
    if (lease.isCertain()) return true
    await lease.renew()
    if (lease.isCertain() || isCalledOff()) continue
    await new Promise<void>((resolve) => clock.after(pauseMs, resolve))
  }
  return false
}
