import { conversationKey } from './conversation-key.ts'
import type { ConversationRef } from './conversation-record.ts'

type Held = ConversationRef & { readonly holder: string; readonly epoch: number }

/** Remembers the leases taken through this store, so that a renewal can tell which are gone. */
export class HeldLeases {
  readonly #byEpoch = new Map<number, Held>()
  readonly #byConversation = new Map<string, number>()

  add(held: Held): void {
    const key = keyOf(held)
    const earlier = this.#byConversation.get(key)
    if (earlier !== undefined) this.#byEpoch.delete(earlier)
    this.#byConversation.set(key, held.epoch)
    this.#byEpoch.set(held.epoch, held)
  }

  /** Nothing happens when that conversation is not held under this epoch. */
  remove({ tenant, id, epoch }: ConversationRef & { readonly epoch: number }): void {
    const held = this.#byEpoch.get(epoch)
    if (held?.tenant !== tenant || held.id !== id) return
    this.#byEpoch.delete(epoch)
    if (this.#byConversation.get(keyOf(held)) === epoch) this.#byConversation.delete(keyOf(held))
  }

  of(holder: string): Held[] {
    return [...this.#byEpoch.values()].filter((held) => held.holder === holder)
  }

  /** Of those held before a renewal, the ones it did not find; they are forgotten. */
  lost(before: readonly Held[], renewed: readonly { readonly epoch: number }[]): ConversationRef[] {
    const kept = new Set(renewed.map((lease) => lease.epoch))
    // One released while the renewal was under way is not lost.
    const lost = before.filter((held) => !kept.has(held.epoch) && this.#byEpoch.has(held.epoch))
    for (const held of lost) this.remove(held)
    return lost.map(({ tenant, id }) => ({ tenant, id }))
  }
}

function keyOf({ tenant, id, holder }: Held): string {
  return conversationKey(tenant, id) + holder
}
