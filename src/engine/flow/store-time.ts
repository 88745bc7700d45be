import { type Clock, monotonic } from '../../base/clock.ts'

/**
 * What time it is for the store, as far as it is known here. Times in a log are the store's, so what is due is measured by its clock, and goes on from
 * there whatever is done to the time of day of this machine.
 */
export class StoreTime {
  readonly #clock: Clock
  /** What the store told when it was last heard, and when that was; null before. */
  #heard: { readonly at: number; readonly monotonicMs: number } | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get isKnown(): boolean {
    return this.#heard !== null
  }

  now(): number {
    return this.#heard ? this.#heard.at + monotonic(this.#clock) - this.#heard.monotonicMs : this.#clock.now()
  }

  /** The store has told the time of a commit. One that does not tell is taken to have ours. */
  heard({ at = this.#clock.now() }: { readonly at?: number }): void {
    this.#heard = { at, monotonicMs: monotonic(this.#clock) }
  }
}
