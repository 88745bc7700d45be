import { conversationKey } from './conversation-key.ts'
import type { KnownLease, LeaseRef } from './lease-news.ts'

type Held = LeaseRef & { readonly holder: string }

/** Remembers the leases taken through this store, so that one that was let go is never told of as lost. */
export class HeldLeases {
  readonly #byEpoch = new Map<number, Held>()
  readonly #byConversation = new Map<string, number>()
  readonly #beingLetGo = new Set<number>()

  add(held: Held): void {
    const key = keyOf(held)
    const earlier = this.#byConversation.get(key)
    if (earlier !== undefined) this.#byEpoch.delete(earlier)
    this.#byConversation.set(key, held.epoch)
    this.#byEpoch.set(held.epoch, held)
  }

  /** Nothing happens when that conversation is not held under this epoch. */
  remove({ tenant, id, epoch }: LeaseRef): void {
    const held = this.#byEpoch.get(epoch)
    if (held?.tenant !== tenant || held.id !== id) return
    this.#byEpoch.delete(epoch)
    if (this.#byConversation.get(keyOf(held)) === epoch) this.#byConversation.delete(keyOf(held))
  }

  /**
   * Runs what lets go of a lease. It may be gone long before its acknowledgement is here, and is not told of as lost meanwhile. It is kept
   * where the work fails or answers that it has not let go.
   */
  async lettingGo<T>(lease: LeaseRef, release: () => Promise<T>, hasLetGo: (answer: T) => boolean): Promise<T> {
    this.#beingLetGo.add(lease.epoch)
    try {
      const answer = await release()
      if (hasLetGo(answer)) this.remove(lease)
      return answer
    } finally {
      this.#beingLetGo.delete(lease.epoch)
    }
  }

  /** All of a holder, as if it knew all of their logs. */
  of(holder: string): KnownLease[] {
    const held = [...this.#byEpoch.values()].filter((candidate) => candidate.holder === holder)
    return held.map(({ tenant, id, epoch }) => ({ tenant, id, epoch, seq: Number.MAX_SAFE_INTEGER }))
  }

  /** Those that were not let go of meanwhile. */
  still<Lease extends LeaseRef>(leases: readonly Lease[]): Lease[] {
    return leases.filter(({ epoch }) => this.#byEpoch.has(epoch))
  }

  /** Those that are gone without having been let go of. */
  lost(leases: readonly LeaseRef[]): LeaseRef[] {
    return this.still(leases).filter(({ epoch }) => !this.#beingLetGo.has(epoch))
  }
}

function keyOf({ tenant, id, holder }: Held): string {
  return conversationKey(tenant, id) + holder
}
