import type { ConversationRef } from '../../../src/store/conversation-record.ts'
import type { KnownLease, LeaseNews, LeaseRef } from '../../../src/store/lease-news.ts'
import type { WakeHint } from '../../../src/store/store.ts'
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

  of(holder: string): LeaseRef[] {
    return [...this.#held.values()]
      .filter((held) => held.holder === holder)
      .map(({ tenant, id, epoch }) => ({ tenant, id, epoch }))
  }

  /** Extends those of the leases that the holder has taken here and still has; those it no longer has are lost, and are told of once. */
  keep(contract: Contract, holder: string, until: Span, known: readonly KnownLease[]): LeaseNews {
    const taken = new Set(this.#epochs())
    const lost: LeaseRef[] = []
    const grown: WakeHint[] = []
    for (const { tenant, id, epoch, seq } of known) {
      if (!taken.has(epoch)) continue
      const conversation = contract.tenant(tenant).conversations.get(id)
      if (conversation?.lease?.epoch === epoch && conversation.lease.holder === holder) {
        conversation.lease.until = until.copy()
        const { length } = conversation.events
        if (length > seq) grown.push({ tenant, id, seq: length })
      } else {
        this.gave(tenant, id, epoch)
        lost.push({ tenant, id, epoch })
      }
    }
    return {
      lost,
      grown,
      strays: this.#strays(
        contract,
        holder,
        known.filter(({ epoch }) => taken.has(epoch)),
      ),
    }
  }

  #epochs(): number[] {
    return [...this.#held.values()].map(({ epoch }) => epoch)
  }

  #strays(contract: Contract, holder: string, known: readonly LeaseRef[]): LeaseRef[] {
    const strays: LeaseRef[] = []
    for (const [tenant, { conversations }] of contract.tenants) {
      for (const { id, lease } of conversations.values()) {
        if (lease?.holder !== holder || known.some(({ epoch }) => epoch === lease.epoch)) continue
        strays.push({ tenant, id, epoch: lease.epoch })
      }
    }
    return strays
  }
}

/** Whether somebody else may not have it now. Unknown counts as an error of the test: lease times are far away or long past. */
export function isLeased({ lease }: Conversation, now: Span): boolean {
  if (!lease) return false
  if (lease.until.lo > now.hi) return true
  if (lease.until.hi <= now.lo) return false
  throw new Error(`a lease until ${lease.until.lo}..${lease.until.hi} is looked at during ${now.lo}..${now.hi}`)
}
