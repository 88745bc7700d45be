import type { Clock } from '../clock/clock.ts'

/** What time it is for the store, as far as it is known here. Times in a log are the store's, so what is due is measured by its clock. */
export class StoreTime {
  readonly #clock: Clock
  /** By how much the store was ahead of us when it was last heard; null before. */
  #aheadMs: number | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get isKnown(): boolean {
    return this.#aheadMs !== null
  }

  now(): number {
    return this.#clock.now() + (this.#aheadMs ?? 0)
  }

  /** The store has told the time of a commit. One that does not tell is taken to have ours. */
  heard({ at }: { readonly at?: number }): void {
    this.#aheadMs = at === undefined ? 0 : at - this.#clock.now()
  }
}
