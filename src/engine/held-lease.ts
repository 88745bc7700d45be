import { type Clock, monotonic } from '../base/clock.ts'
import type { PerdureError } from '../base/errors/perdure-error.ts'
import type { FsmState } from '../log/fsm-state.ts'
import type { Change } from '../store/change.ts'
import type { Lease } from '../store/lease.ts'
import type { ConversationRef } from '../store/records.ts'
import type { WorkingSet } from '../store/working-sets.ts'

/** A moment by both clocks of the machine. The one that never goes back may stand still while the machine sleeps; the other does not. */
export type Moment = { readonly monotonicMs: number; readonly nowMs: number }

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

/** What a commit says when it wants the lease, and is told when it has it. */
export type LeaseRequest = {
  /** To be spread into the change, just before it is committed. */
  acquire(): Pick<Change, 'acquire'>
  got(result: { readonly epoch?: number }, known?: CommittedLog | null): void
}

/** The log as a commit left it, and the cached state that the commit wrote. */
export type CommittedLog = { readonly workingSet: WorkingSet; readonly cached: FsmState }

/** A lease that came with a commit, asked for at that moment, with what is known where nothing has to be read. */
export type GrantedLease = { readonly epoch: number; readonly askedAt: Moment; readonly known: CommittedLog | null }

export const noLease: LeaseRequest = { acquire: () => ({}), got: () => {} }

/** This process's hold on a conversation or session. */
export type LogOwner = {
  readonly lastSeq: number
  /** Nothing is written under it any more. */
  readonly isLost: boolean
  /** Why it does not get on, while the store fails it. */
  readonly problem: PerdureError | null
  hint(seq: number): void
  /** Somebody else has it: nothing more may be written. */
  lose(): void
  /** Lets go in good order. */
  close(): Promise<void>
}

/** Keeps the process from ending while something is under way: all other timers let it go. */
export class KeepAlive {
  #holders = 0
  #timer: NodeJS.Timeout | null = null

  #isEnded = false

  /** Whatever is still under way may be cut off by the end of the process. */
  end(): void {
    this.#isEnded = true
    if (this.#timer) clearInterval(this.#timer)
    this.#timer = null
  }

  hold(): () => void {
    this.#holders += 1
    if (!this.#isEnded) this.#timer ??= setInterval(() => {}, 60_000)
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      this.#holders -= 1
      if (this.#holders > 0 || !this.#timer) return
      clearInterval(this.#timer)
      this.#timer = null
    }
  }
}
