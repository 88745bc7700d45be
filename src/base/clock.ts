/** The source of time, so that tests can control it. */
export type Clock = {
  now(): number
  /**
   * Milliseconds since an arbitrary moment. Never goes back, even if the system time does. Default:
   * `performance.now()`.
   */
  monotonic?(): number
  /**
   * Calls back once, after at least `delayMs`. Must not keep the process alive. Returns a function that cancels the
   * call.
   */
  after(delayMs: number, callback: () => void): () => void
}

/** The longest delay that `setTimeout` accepts; a longer one fires at once. */
const longestTimeoutMs = 2 ** 31 - 1

/** The system's time. */
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

/** Prefers the clock's own monotonic time, so that a test clock controls both. */
export function monotonic(clock: Pick<Clock, 'monotonic'>): number {
  return clock.monotonic?.() ?? performance.now()
}

/** The longest timer interval. The timer only keeps the process alive; it need not fire. */
const holdMs = 2 ** 31 - 1

/** One timer keeps the process for everything that is awaited, because a timer costs more than most waits. */
const held = { timer: null as ReturnType<typeof setInterval> | null, count: 0 }

/** Keeps the process alive until the returned function is called. */
function holdProcess(): () => void {
  held.timer ??= setInterval(() => {}, holdMs)
  if (held.count++ === 0) held.timer.ref()
  let isHeld = true
  return () => {
    if (!isHeld) return
    isHeld = false
    if (--held.count === 0) held.timer?.unref()
  }
}

/**
 * `clock.after` for a time that is awaited: keeps the process alive until it has passed or is cancelled. A process that
 * ends while a promise is awaited exits with code 13.
 */
export function afterAwaited(delayMs: number, clock: Clock, callback: () => void): () => void {
  const letGo = holdProcess()
  const callOff = clock.after(delayMs, () => {
    letGo()
    callback()
  })
  return () => {
    letGo()
    callOff()
  }
}

/** The result of `work`, or of `late` when `work` takes longer than `timeoutMs`. Keeps the process alive until then. */
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

/** Wakes one waiter. A signal that is set before the wait is remembered. */
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

/** The delay after a number of failures in a row: doubles from `firstMs` up to `mostMs`. */
export function delayAfter(failures: number, { firstMs, mostMs }: DelayBounds): number {
  // 0 * Infinity is NaN.
  return Math.min(mostMs, firstMs * 2 ** Math.min(failures - 1, 52))
}

/** A random delay in the upper half, so that callers that failed together do not retry together. */
export function jittered(delayMs: number, random: () => number = Math.random): number {
  return delayMs * (1 - random() / 2)
}

/** Delays between requests to a store that failed. */
export const storeDelays: DelayBounds = { firstMs: 50, mostMs: 5_000 }

/**
 * The delay before the next request to a store that failed. It grows with each failure until a write succeeds, because
 * a full disk can still be read.
 */
export class Backoff {
  #failures = 0
  #waitMs = 0

  /** 0 when the last request succeeded. */
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
