/** A lease as those who work under it see it. */
export type Lease = {
  readonly epoch: number
  /** Whether no other process can have taken it, by this machine's own clocks: it was asked for less than its time ago. */
  isCertain(): boolean
  /** Renews it, so that it is certain again. Does not reject; `isCertain` tells what came of it. */
  renew(): Promise<void>
  /** Another process has it. */
  lose(): void
}
