/** A smaller step back is normal: several processes on one machine, or a server that corrects its clock. */
const toleranceMs = 1_000

/** What a query for work learned about the store's clock. `first`: there is no earlier reading. `back`: an earlier reading was later. */
export type ClockChange = 'first' | 'back' | 'forward'

/** Detects that a store's clock was put back, from the times of its queries for work. Such a query must then repair what `Driver.dueWork` describes. */
export class ClockWatch {
  #last: number | null = null

  observe(now: number): ClockChange {
    if (this.#last === null) return 'first'
    return now < this.#last - toleranceMs ? 'back' : 'forward'
  }

  /** Everything is repaired as of this time. Must not be called earlier: a repair that failed is tried again with the next query. */
  repairedAt(now: number): void {
    this.#last = now
  }
}

/** The longest lease another process can have, as seen by a process with leases of `leaseMs`. A longer lease was taken by a clock that was ahead. */
export function longestLease(leaseMs: number): number {
  return 3 * leaseMs
}
