/** Time as a seam, so that tests of the memory store can move it. */
export type Clock = {
  now(): number
  /** Milliseconds since some moment, which never go back whatever is done to the time of day. Default: those of the process. */
  monotonic?(): number
  /** Calls back once, not before `delayMs` have passed. Must not keep the process alive. Returns a function that calls it off. */
  after(delayMs: number, callback: () => void): () => void
}

/** The longest delay `setTimeout` takes; past it, it fires at once. */
const longestTimeoutMs = 2 ** 31 - 1

/** The machine's own time. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(delayMs, callback) {
    let timer: NodeJS.Timeout
    const wait = (remainingMs: number): void => {
      const slice = Math.min(remainingMs, longestTimeoutMs)
      timer = setTimeout(() => (remainingMs > slice ? wait(remainingMs - slice) : callback()), slice)
      timer.unref()
    }
    wait(Math.max(0, Math.ceil(delayMs)))
    return () => clearTimeout(timer)
  },
}

/** The clock's own, where it has one: a clock that tests move must move both. */
export function monotonic(clock: Pick<Clock, 'monotonic'>): number {
  return clock.monotonic?.() ?? performance.now()
}
