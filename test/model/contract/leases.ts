import type { ConversationRef } from '../../../src/store/conversation-record.ts'
import type { Span } from '../compare/span.ts'
import type { Contract, Conversation } from './state.ts'

/** What one open store remembers of the leases taken through it. */
export class Holdings {
  readonly #held = new Map<string, ConversationRef & { readonly holder: string; readonly epoch: number }>()

  took(tenant: string, id: string, holder: string, epoch: number): void {
    this.#held.set(JSON.stringify([tenant, id, holder]), { tenant, id, holder, epoch })
  }

  gave(tenant: string, id: string, epoch: number): void {
    for (const [key, held] of this.#held) {
      if (held.epoch === epoch && held.tenant === tenant && held.id === id) this.#held.delete(key)
    }
  }

  /** Extends the holder's leases; those it no longer has are returned, once. */
  renew(contract: Contract, holder: string, until: Span): ConversationRef[] {
    for (const { conversations } of contract.tenants.values()) {
      for (const { lease } of conversations.values()) if (lease?.holder === holder) lease.until = until.copy()
    }
    const lost: ConversationRef[] = []
    for (const [key, held] of this.#held) {
      if (held.holder !== holder) continue
      const lease = contract.tenant(held.tenant).conversations.get(held.id)?.lease
      if (lease?.epoch === held.epoch) continue
      this.#held.delete(key)
      lost.push({ tenant: held.tenant, id: held.id })
    }
    return lost
  }
}

/** Whether somebody else may not have it now. Unknown counts as an error of the test: lease times are far away or long past. */
export function isLeased({ lease }: Conversation, now: Span): boolean {
  if (!lease) return false
  if (lease.until.lo > now.hi) return true
  if (lease.until.hi <= now.lo) return false
  throw new Error(`a lease until ${lease.until.lo}..${lease.until.hi} is looked at during ${now.lo}..${now.hi}`)
}
