/**
 * What comes of it in time; null when it does not, or when nobody is left to be told. Only the waiting ends then: what was asked for
 * goes on. `wait` must reject with the reason of its signal.
 */
export async function inTime<T>(
  wait: (signal: AbortSignal) => Promise<T>,
  waitMs: number,
  gone?: AbortSignal,
): Promise<T | null> {
  const timeUp = AbortSignal.timeout(waitMs)
  const signal = gone ? AbortSignal.any([timeUp, gone]) : timeUp
  try {
    return await wait(signal)
  } catch (error) {
    if (signal.aborted && error === signal.reason) return null
    throw error
  }
}
