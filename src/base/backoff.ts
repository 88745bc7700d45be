const firstMs = 50
const longestMs = 5_000

/** How long a store that failed is left alone: longer with every failure until it takes a write, since a full disk can still be read. */
export class Backoff {
  #failures = 0
  #waitMs = 0

  /** 0 when the last thing that was tried went well. */
  get waitMs(): number {
    return this.#waitMs
  }

  failed(): void {
    this.#waitMs = Math.min(firstMs * 2 ** this.#failures, longestMs)
    this.#failures += 1
  }

  hasRead(): void {
    this.#waitMs = 0
  }

  hasWritten(): void {
    this.#failures = 0
  }
}
