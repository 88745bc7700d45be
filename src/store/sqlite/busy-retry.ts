import { StoreBusyError } from '../../base/errors/store-errors.ts'

const shortestMs = 1
const longestMs = 12

/** Paces the attempts of one call while other processes hold the file. */
export class BusyRetry {
  readonly #timeoutMs: number
  #since: number | null = null
  #attempts = 0

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs
  }

  /** An attempt found the file busy. Returns how long to wait, or the error when its time is up. */
  next(cause: unknown): number | StoreBusyError {
    const now = performance.now()
    // Counted from the first refusal: what a call waited for in this process is not the others' doing.
    this.#since ??= now
    const waitedMs = Math.round(now - this.#since)
    if (waitedMs >= this.#timeoutMs && this.#attempts > 0) return new StoreBusyError(waitedMs, { cause })
    this.#attempts += 1
    // Random, so that processes that were refused together do not come back together.
    return shortestMs + Math.random() * Math.min(longestMs, this.#attempts)
  }
}

/** Keeps the process alive: somebody awaits what comes after it. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
