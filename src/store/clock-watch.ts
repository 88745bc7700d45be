/** A clock that goes back by less is not one that was put back: processes on one machine, or a server that corrects itself. */
const toleranceMs = 1_000

/** How a look found the store's clock: `first` where nothing is known of it before, `back` where it was later at the look before. */
export type ClockNews = 'first' | 'back' | 'goes on'

/** Notices that the clock of a store was put back, by the times of its looks for work. Such a look must put right what `Driver.dueWork` says. */
export class ClockWatch {
  #last: number | null = null

  newsAt(now: number): ClockNews {
    if (this.#last === null) return 'first'
    return now < this.#last - toleranceMs ? 'back' : 'goes on'
  }

  /** All is right at this time. Must not be told before: what failed is done with the next look. */
  isRightAt(now: number): void {
    this.#last = now
  }
}

/** How long a lease may last that another process took, as seen by one with leases of `leaseMs`. What lasts longer was taken by a clock that was ahead. */
export function longestLease(leaseMs: number): number {
  return 3 * leaseMs
}
