import { type Clock, monotonic } from '../../base/clock.ts'
import type { Lease } from '../../store/lease.ts'
import type { ConversationRef } from '../../store/records.ts'
import type { Moment } from '../lease-request.ts'

export function momentOf(clock: Clock): Moment {
  return { monotonicMs: monotonic(clock), nowMs: clock.now() }
}

type Parts = {
  readonly clock: Clock
  readonly leaseMs: number
  readonly renew: () => Promise<void>
  readonly onLost: (lease: HeldLease) => void
}

/** A lease this process has. Certain for as long as it lasts, counted from before it was asked for: the store's own clock began later. */
export class HeldLease implements Lease {
  readonly ref: ConversationRef
  readonly epoch: number
  readonly #parts: Parts
  #askedAt: Moment
  #isLost = false

  constructor(ref: ConversationRef, epoch: number, askedAt: Moment, parts: Parts) {
    this.ref = ref
    this.epoch = epoch
    this.#askedAt = askedAt
    this.#parts = parts
  }

  get isLost(): boolean {
    return this.#isLost
  }

  lose(): void {
    if (this.#isLost) return
    this.#isLost = true
    this.#parts.onLost(this)
  }

  isCertain(): boolean {
    const { clock, leaseMs } = this.#parts
    const now = momentOf(clock)
    const { monotonicMs, nowMs } = this.#askedAt
    return !this.#isLost && now.monotonicMs - monotonicMs < leaseMs && now.nowMs - nowMs < leaseMs
  }

  renew(): Promise<void> {
    return this.#parts.renew()
  }

  /** It was renewed, as asked for at that moment. */
  renewed(askedAt: Moment): void {
    if (askedAt.monotonicMs > this.#askedAt.monotonicMs) this.#askedAt = askedAt
  }
}
