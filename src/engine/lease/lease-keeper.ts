import { type Clock, monotonic } from '../../base/clock.ts'
import { PerdureError } from '../../base/errors/perdure-error.ts'
import type { Lease, LeaseRef } from '../../store/lease.ts'
import { type ConversationRef, conversationKey } from '../../store/records.ts'
import type { WakeHint } from '../../store/store.ts'
import type { Moment } from '../lease-request.ts'
import type { EngineNode } from '../node.ts'

export type HeldConversation = { readonly lease: HeldLease; readonly seq: number }

type LeaseNode = Pick<EngineNode, 'store' | 'holder' | 'leaseMs' | 'clock' | 'logger' | 'warnOfStore' | 'observer'>

/** The worker's side of the keeper. */
export type LeaseHolder = {
  /** The leases that this process works under, and how far it knows each log. */
  readonly held: () => readonly HeldConversation[]
  /** Whether the conversation is being taken now: its lease may be known in a moment. */
  readonly isBeingTaken: (ref: ConversationRef) => boolean
  /** The claim of due conversations that is under way, until what it brought is held or released; null when there is none. Must not reject. */
  readonly claiming: () => Promise<void> | null
  readonly onLost: (lease: HeldLease) => void
  readonly onGrown: (hint: WakeHint) => void
  /** A lease was released: its conversation may be free now. */
  readonly onGivenBack: () => void
}

/** How many renewals may run at once. More than one: a renewal that is never answered must not cost the leases. */
const mostUnderWay = 3

/**
 * Renews the leases of this process on a timer of its own, however long other things take, and releases those it finds under its name and
 * does not know: their acknowledgements were lost.
 */
export class LeaseKeeper {
  readonly #node: LeaseNode
  readonly #worker: LeaseHolder
  readonly #underWay = new Set<Promise<void>>()
  readonly #beingGivenBack = new Set<string>()
  /** For each renewal whose strays are not released yet: the leases that became known since it was requested. */
  readonly #learned = new Set<Set<number>>()
  /** Leases that others took although this process lives, by epoch. The store does not know yet that they are no lapses. */
  readonly #lapsed = new Map<number, ConversationRef>()
  #next: Promise<void> | null = null
  #mayHaveStrays = false
  /** A lease was left alone because its conversation was being taken. */
  #hasPostponed = false
  #callOff: () => void = () => {}
  #isStopped = false

  constructor(node: LeaseNode, worker: LeaseHolder) {
    this.#node = node
    this.#worker = worker
  }

  start(): void {
    const { clock, leaseMs } = this.#node
    const tick = (): void => {
      if (this.#isStopped) return
      this.#callOff = clock.after(Math.max(1, Math.floor(leaseMs / 3)), tick)
      if (this.#mayHaveStrays || this.#worker.held().length > 0) void this.renew()
      void this.#takeBackLapses()
    }
    this.#callOff = clock.after(Math.max(1, Math.floor(leaseMs / 3)), tick)
  }

  stop(): void {
    this.#isStopped = true
    this.#callOff()
  }

  /** The lease of that epoch, which was asked for at that moment. */
  holding(ref: ConversationRef, epoch: number, askedAt: Moment): HeldLease {
    const { clock, leaseMs } = this.#node
    const onLost = (lease: HeldLease) => {
      this.#lapsed.set(lease.epoch, lease.ref)
      this.#node.observer?.observe({ type: 'lease_lost', ref: lease.ref })
      void this.#takeBackLapses()
    }
    for (const epochs of this.#learned) epochs.add(epoch)
    return new HeldLease(ref, epoch, askedAt, { clock, leaseMs, renew: () => this.renew(), onLost })
  }

  /** Taking or releasing a lease failed in a way that may have left one behind: it is looked for at once. */
  lookForStrays(): void {
    this.#mayHaveStrays = true
    if (!this.#isStopped) void this.renew()
  }

  /** Must be called when a conversation is no longer being taken: its lease may be one whose return was postponed. */
  lookForPostponed(): void {
    if (!this.#hasPostponed) return
    this.#hasPostponed = false
    this.lookForStrays()
  }

  /** A lease that is on its way back must not be asked for again. */
  isGivingBack({ tenant, id }: ConversationRef): boolean {
    return this.#beingGivenBack.has(conversationKey(tenant, id))
  }

  /** Whether the lease that was asked for at that moment still lasts, without a renewal. */
  isCertain({ askedAt }: { readonly askedAt: Moment }): boolean {
    return isWithinLease(askedAt, this.#node)
  }

  /** Does not reject. Calls that come before a renewal begins share it. */
  renew(): Promise<void> {
    this.#next ??= this.#begin()
    return this.#next
  }

  async #begin(): Promise<void> {
    await Promise.resolve()
    while (this.#underWay.size >= mostUnderWay) await Promise.race(this.#underWay)
    this.#next = null
    const renewal = this.#renew()
    this.#underWay.add(renewal)
    await renewal
    this.#underWay.delete(renewal)
  }

  async #renew(): Promise<void> {
    const { store, holder, leaseMs, clock, warnOfStore } = this.#node
    const { onGrown, onLost } = this.#worker
    this.#mayHaveStrays = false
    const held = this.#worker.held()
    const askedAt = momentOf(clock)
    const learned = new Set<number>()
    this.#learned.add(learned)
    let returning: Promise<void> | null = null
    try {
      const known = held.map(({ lease: { ref, epoch }, seq }) => ({ ...ref, epoch, seq }))
      const { lost, grown, strays } = await store.keepLeases(holder, leaseMs, known)
      const lostEpochs = new Set(lost.map(({ epoch }) => epoch))
      for (const { lease } of held) {
        if (lostEpochs.has(lease.epoch)) onLost(lease)
        else lease.renewed(askedAt)
      }
      for (const hint of grown) onGrown(hint)
      const claiming = strays.length > 0 ? this.#worker.claiming() : null
      if (claiming === null) await this.#giveBack(strays, learned)
      else returning = this.#giveBackAfter(claiming, strays, learned)
    } catch (error) {
      this.#mayHaveStrays = true
      if (PerdureError.isInstance(error) && error.code === 'store_closed') this.#letGoOfAll(error)
      else if (!this.#isStopped) warnOfStore('renewing leases failed; trying again', { error })
    } finally {
      const forget = (): void => void this.#learned.delete(learned)
      if (returning === null) forget()
      else void returning.then(forget)
    }
  }

  /** The store is closed: running work is aborted, and nothing waits for its lease any longer. */
  #letGoOfAll(error: unknown): void {
    this.stop()
    this.#node.logger.error('the store is closed: releasing all conversations', { error })
    for (const { lease } of this.#worker.held()) this.#worker.onLost(lease)
  }

  /** They lapsed because this process was slow, not because a conversation ended it. Tried again with the next renewal. */
  async #takeBackLapses(): Promise<void> {
    const { store, warnOfStore } = this.#node
    for (const [epoch, { tenant, id }] of [...this.#lapsed]) {
      if (this.#isStopped) return
      try {
        await store.forTenant(tenant).takeBackLapse(id, epoch)
        this.#lapsed.delete(epoch)
      } catch (error) {
        warnOfStore('reporting a lease that lapsed in a live process failed; trying again', { tenant, id, error })
        return
      }
    }
  }

  /** They may be what the claim under way brings. A claim that begins from now on cannot bring them, so it is not waited for. Does not reject. */
  async #giveBackAfter(
    claiming: Promise<void>,
    strays: readonly LeaseRef[],
    learned: ReadonlySet<number>,
  ): Promise<void> {
    try {
      await claiming
      await this.#giveBack(strays, learned)
    } catch (error) {
      this.#mayHaveStrays = true
      if (!this.#isStopped) this.#node.warnOfStore('releasing leases failed; trying again', { error })
    }
  }

  /** `learned`: no strays, or not when they were found. */
  async #giveBack(strays: readonly LeaseRef[], learned: ReadonlySet<number>): Promise<void> {
    const { store, logger } = this.#node
    const { isBeingTaken, onGivenBack } = this.#worker
    // By now the lease may be known here, or will be in a moment.
    const isKnown = (epoch: number): boolean => this.#worker.held().some(({ lease }) => lease.epoch === epoch)
    for (const { tenant, id, epoch } of strays) {
      const key = conversationKey(tenant, id)
      if (learned.has(epoch)) {
        // Worked on since then, and perhaps released. If the release failed, the next renewal finds the lease.
        this.#mayHaveStrays = true
        continue
      }
      if (isKnown(epoch) || this.#beingGivenBack.has(key)) continue
      if (isBeingTaken({ tenant, id })) {
        this.#mayHaveStrays = true
        this.#hasPostponed = true
        continue
      }
      this.#beingGivenBack.add(key)
      try {
        await store.forTenant(tenant).releaseLease(id, epoch)
      } finally {
        this.#beingGivenBack.delete(key)
      }
      logger.warn('released a lease whose acknowledgement was lost', { tenant, id, epoch })
      onGivenBack()
    }
  }
}

export function momentOf(clock: Clock): Moment {
  return { monotonicMs: monotonic(clock), nowMs: clock.now() }
}

function isWithinLease(askedAt: Moment, { clock, leaseMs }: Pick<LeaseNode, 'clock' | 'leaseMs'>): boolean {
  const now = momentOf(clock)
  return now.monotonicMs - askedAt.monotonicMs < leaseMs && now.nowMs - askedAt.nowMs < leaseMs
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
    return !this.#isLost && isWithinLease(this.#askedAt, this.#parts)
  }

  renew(): Promise<void> {
    return this.#parts.renew()
  }

  /** It was renewed, as asked for at that moment. */
  renewed(askedAt: Moment): void {
    if (askedAt.monotonicMs > this.#askedAt.monotonicMs) this.#askedAt = askedAt
  }
}
