import type { ClaimedDue, DueClaim } from '../../store/claim-due.ts'
import { lapseWithinMs } from '../../store/lease.ts'
import { type ConversationRef, conversationKey } from '../../store/records.ts'
import type { Moment } from '../lease-request.ts'
import type { EngineNode } from '../node.ts'
import { type HeldLease, type LeaseKeeper, momentOf } from './lease-keeper.ts'

type ClaimingNode = Pick<EngineNode, 'store' | 'holder' | 'leaseMs' | 'clock' | 'logger' | 'turnLimits'>

type Claimed = { readonly lease: HeldLease; readonly lapses: number }

/** A due conversation that this process has leased, and when it asked for the lease. */
export type TakenDue = Extract<ClaimedDue, { type: 'taken' }> & { readonly askedAt: Moment }

const quarantinedMessage = 'a conversation was quarantined: the last processes that worked on it ended while doing so'

/** The place of the suspect is kept for one that a claim under way may bring. */
const notKnownYet = 'not known yet'

/**
 * Claims conversations for this process. A conversation whose last leases lapsed is a suspect: it may be what ended the processes. A process holds one
 * suspect at a time, so that when it dies, only that one gets another lapse and comes closer to its quarantine. A suspect that is held for so long that its
 * end would be no lapse makes place for the next: it may run for hours, and others, its own parent among them, must not wait for it.
 */
export class Claims {
  readonly #node: ClaimingNode
  readonly #leases: LeaseKeeper
  readonly #onPlaceFree: () => void
  /** The suspect that is held, or about to be. */
  #suspect: string | null = null
  #callOff: () => void = () => {}

  /** `onPlaceFree`: another suspect may be taken. */
  constructor(node: ClaimingNode, leases: LeaseKeeper, onPlaceFree: () => void) {
    this.#node = node
    this.#leases = leases
    this.#onPlaceFree = onPlaceFree
  }

  get hasPlaceForSuspect(): boolean {
    return this.#suspect === null
  }

  /** Null when another node has it, when there is no slot for it, or when it is a suspect and another suspect is held. `name`: of its agent or flow. */
  async take(ref: ConversationRef, name: string): Promise<HeldLease | null> {
    const claimed = await this.#claim(ref, name, false)
    if (claimed !== 'suspect') return claimed?.lease ?? null
    return this.hasPlaceForSuspect ? this.#takeSuspect(ref, name) : null
  }

  /**
   * Claims due conversations: at most `limit`, one of them a suspect. Must not be called again before it has settled. A lease that the caller cannot use must be
   * released, and its conversation left.
   */
  async takeDue(request: Pick<DueClaim, 'agents' | 'limit' | 'except' | 'only' | 'dueForMs'>): Promise<TakenDue[]> {
    const { store, holder, leaseMs, clock, logger, turnLimits } = this.#node
    const suspects = this.hasPlaceForSuspect && !request.only ? 1 : 0
    if (suspects > 0) this.#suspect = notKnownYet
    const askedAt = momentOf(clock)
    try {
      const limited = turnLimits ? { limits: turnLimits.forSearch() } : {}
      const found = await store.claimDue({ ...request, holder, ttlMs: leaseMs, suspects, ...limited })
      for (const one of found)
        if (one.type === 'quarantined') logger.error(quarantinedMessage, { tenant: one.tenant, id: one.id })
      const taken = found.flatMap((one) => (one.type === 'taken' ? [{ ...one, askedAt }] : []))
      const suspect = taken.find(({ lapses }) => lapses > 0)
      if (suspect) this.#hold(suspect)
      return taken
    } catch (error) {
      this.#leases.lookForStrays()
      throw error
    } finally {
      if (this.#suspect === notKnownYet) this.#suspect = null
    }
  }

  /** Must be called when the conversation is held no longer. */
  leave({ tenant, id }: ConversationRef): void {
    if (this.#suspect !== conversationKey(tenant, id)) return
    this.#suspect = null
    this.#callOff()
    this.#onPlaceFree()
  }

  async #takeSuspect(ref: ConversationRef, name: string): Promise<HeldLease | null> {
    this.#suspect = conversationKey(ref.tenant, ref.id)
    const claimed = await this.#claim(ref, name, true).catch((error: unknown) => {
      // Not by `leave`, which has the worker look for more at once: that would fail, too.
      this.#suspect = null
      throw error
    })
    const taken = claimed === 'suspect' ? null : claimed
    if (!taken || taken.lapses === 0) this.leave(ref)
    else this.#hold(ref)
    return taken?.lease ?? null
  }

  #hold(ref: ConversationRef): void {
    this.#suspect = conversationKey(ref.tenant, ref.id)
    this.#callOff = this.#node.clock.after(lapseWithinMs, () => this.leave(ref))
  }

  async #claim(ref: ConversationRef, name: string, suspects: boolean): Promise<Claimed | 'suspect' | null> {
    const { store, holder, leaseMs, clock, logger, turnLimits } = this.#node
    const askedAt = momentOf(clock)
    const limited = turnLimits ? { limits: turnLimits.forClaim(ref.tenant, name) } : {}
    try {
      const outcome = await store.forTenant(ref.tenant).claimLease(ref.id, holder, leaseMs, { suspects, ...limited })
      if (outcome.type === 'quarantined') {
        logger.error(quarantinedMessage, ref)
      }
      if (outcome.type === 'suspect') return 'suspect'
      if (outcome.type !== 'taken') return null
      return { lease: this.#leases.holding(ref, outcome.epoch, askedAt), lapses: outcome.lapses }
    } catch (error) {
      this.#leases.lookForStrays()
      throw error
    }
  }
}
