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
    let timer: ReturnType<typeof setTimeout>
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

/** The longest interval of a timer: it is there for keeping the process, not for firing. */
const holdMs = 2 ** 31 - 1

/**
 * `clock.after` for a time that is awaited: the process stays alive until it has passed, or was called off. A clock does not keep the process, and one
 * that ends while a promise is awaited ends with code 13.
 */
export function afterAwaited(delayMs: number, clock: Clock, callback: () => void): () => void {
  const hold = setInterval(() => {}, holdMs)
  const callOff = clock.after(delayMs, () => {
    clearInterval(hold)
    callback()
  })
  return () => {
    clearInterval(hold)
    callOff()
  }
}

/** What comes of `work`; what `late` returns or throws, when that takes longer than `timeoutMs`. The process stays alive until then. */
export async function withTimeout<T>(work: Promise<T>, timeoutMs: number, clock: Clock, late: () => T): Promise<T> {
  let callOff = (): void => {}
  const tooLate = new Promise<void>((resolve) => {
    callOff = afterAwaited(timeoutMs, clock, resolve)
  })
  try {
    return await Promise.race([work, tooLate.then(late)])
  } finally {
    callOff()
  }
}

/** Wakes one waiter; remembered when nobody waits. */
export class Signal {
  #isSet = false
  #wake: (() => void) | null = null

  set(): void {
    this.#isSet = true
    this.#wake?.()
  }

  async wait(): Promise<void> {
    if (!this.#isSet) await new Promise<void>((resolve) => (this.#wake = resolve))
    this.#isSet = false
    this.#wake = null
  }
}

/** The delay after a first failure, and the longest. */
export type DelayBounds = { readonly firstMs: number; readonly mostMs: number }

/** How long to wait after so many failures in a row: doubles from `firstMs` up to `mostMs`. */
export function delayAfter(failures: number, { firstMs, mostMs }: DelayBounds): number {
  // Zero times infinity is not a number.
  return Math.min(mostMs, firstMs * 2 ** Math.min(failures - 1, 52))
}

/** Somewhere in the upper half of a delay, so that callers that failed together do not come back together. */
export function jittered(delayMs: number, random: () => number = Math.random): number {
  return delayMs * (1 - random() / 2)
}

/** How long a store is left alone after a failure. */
export const storeDelays: DelayBounds = { firstMs: 50, mostMs: 5_000 }

/** How long a store that failed is left alone: longer with every failure until it takes a write, since a full disk can still be read. */
export class Backoff {
  #failures = 0
  #waitMs = 0

  /** 0 when the last thing that was tried went well. */
  get waitMs(): number {
    return this.#waitMs
  }

  failed(): void {
    this.#failures += 1
    this.#waitMs = delayAfter(this.#failures, storeDelays)
  }

  hasRead(): void {
    this.#waitMs = 0
  }

  hasWritten(): void {
    this.#failures = 0
  }
}
