import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import { lapseWithinMs } from '../../store/claim.ts'
import { conversationKey } from '../../store/conversation-key.ts'
import type { ConversationRef } from '../../store/conversation-record.ts'
import type { Store } from '../../store/store.ts'
import { type HeldLease, momentOf } from '../held-lease.ts'
import type { LeaseKeeper } from './lease-keeper.ts'

type Parts = {
  readonly store: Store
  readonly holder: string
  readonly leaseMs: number
  readonly clock: Clock
  readonly logger: Logger
  readonly leases: LeaseKeeper
  /** Another conversation with lapses may be taken. */
  readonly onPlaceFree: () => void
}

type Claimed = { readonly lease: HeldLease; readonly lapses: number }

/**
 * Takes conversations for this process. Of those whose last leases lapsed it holds one at a time: when the process ends under it, no other with lapses has
 * one more, so that only the one that ends processes gets to the number that quarantines it. One that is held for so long that its end would be no lapse makes
 * place for the next: it may run for hours, and others, its own parent among them, must not wait for it.
 */
export class Claims {
  readonly #parts: Parts
  /** The one with lapses that is held, or about to be. */
  #suspect: string | null = null
  #callOff: () => void = () => {}

  constructor(parts: Parts) {
    this.#parts = parts
  }

  get hasPlaceForSuspect(): boolean {
    return this.#suspect === null
  }

  /** Null when another has it, or it has lapses and there is no place for it now. */
  async take(ref: ConversationRef): Promise<HeldLease | null> {
    const claimed = await this.#claim(ref, false)
    if (claimed !== 'suspect') return claimed?.lease ?? null
    return this.hasPlaceForSuspect ? this.#takeSuspect(ref) : null
  }

  /** To be called when it is held no longer. */
  leave({ tenant, id }: ConversationRef): void {
    if (this.#suspect !== conversationKey(tenant, id)) return
    this.#suspect = null
    this.#callOff()
    this.#parts.onPlaceFree()
  }

  async #takeSuspect(ref: ConversationRef): Promise<HeldLease | null> {
    this.#suspect = conversationKey(ref.tenant, ref.id)
    const claimed = await this.#claim(ref, true).catch((error: unknown) => {
      // Not by `leave`: what is looked for at once would fail at once.
      this.#suspect = null
      throw error
    })
    const taken = claimed === 'suspect' ? null : claimed
    if (!taken || taken.lapses === 0) this.leave(ref)
    else this.#callOff = this.#parts.clock.after(lapseWithinMs, () => this.leave(ref))
    return taken?.lease ?? null
  }

  async #claim(ref: ConversationRef, suspects: boolean): Promise<Claimed | 'suspect' | null> {
    const { store, holder, leaseMs, clock, logger, leases } = this.#parts
    const askedAt = momentOf(clock)
    try {
      const outcome = await store.forTenant(ref.tenant).claimLease(ref.id, holder, leaseMs, { suspects })
      if (outcome.type === 'quarantined') {
        logger.error('a conversation was quarantined: the last processes that worked on it ended under it', ref)
      }
      if (outcome.type === 'suspect') return 'suspect'
      if (outcome.type !== 'taken') return null
      return { lease: leases.holding(ref, outcome.epoch, askedAt), lapses: outcome.lapses }
    } catch (error) {
      leases.lookForStrays()
      throw error
    }
  }
}
