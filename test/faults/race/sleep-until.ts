import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'

/** A timer may be this late; the rest is waited for awake. */
const timerSlackMs = 3

/** Waits for a moment of the machine's clock, to a fraction of a millisecond. */
export async function sleepUntil(at: number): Promise<void> {
  const remainingMs = (): number => at - (performance.timeOrigin + performance.now())
  if (remainingMs() > timerSlackMs) await sleep(remainingMs() - timerSlackMs)
  while (remainingMs() > 0) await turn()
}
