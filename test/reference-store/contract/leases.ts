import type { KnownLease, LeaseNews, LeaseRef } from '../../../src/store/lease.ts'
import type { ConversationRef } from '../../../src/store/records.ts'
import type { WakeHint } from '../../../src/store/store.ts'
import { Span } from '../compare/span.ts'
import type { Contract, Conversation, Lease } from './state.ts'

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

/** Whether no other holder may have it now. Unknown counts as an error of the test: lease times are far away or long past. */
export function isLeased({ lease }: Conversation, now: Span): boolean {
  if (!lease) return false
  if (lease.until.lo > now.hi) return true
  if (lease.until.hi <= now.lo) return false
  throw new Error(`a lease until ${lease.until.lo}..${lease.until.hi} is looked at during ${now.lo}..${now.hi}`)
}

const soonMs = 5 * 60_000
const mostLapses = 5
const never = Number.MAX_SAFE_INTEGER

const quarantineHolder = 'quarantined'

export type ClaimRequest = { readonly holder: string; readonly suspects: boolean }

/** What a claim of a conversation that is there comes to. The lease is not taken yet: only the store knows its epoch. */
export function claim(
  conversation: Conversation,
  { holder, suspects }: ClaimRequest,
  now: Span,
):
  | { readonly type: 'taken' | 'quarantined'; readonly lapsed: readonly number[] }
  | { readonly type: 'suspect' | 'held' } {
  const { lease } = conversation
  const isOwn = lease?.holder === holder
  if (isLeased(conversation, now) && !isOwn) return { type: 'held' }
  const lapsed = lease ? [...lease.lapsed, ...(!isOwn && hasLapsedSoon(lease) ? [lease.epoch] : [])] : []
  if (lapsed.length > 0 && !suspects) return { type: 'suspect' }
  return { type: lapsed.length < mostLapses ? 'taken' : 'quarantined', lapsed }
}

/** Of one that has lapsed. Leases last far shorter or far longer. */
function hasLapsedSoon({ until, claimedAt }: Lease): boolean {
  if (until.hi - claimedAt.lo <= soonMs) return true
  if (until.lo - claimedAt.hi > soonMs) return false
  throw new Error(`a lease lapsed about ${soonMs} ms after its claim`)
}

export function isSuspect(conversation: Conversation, now: Span): boolean {
  const asked = claim(conversation, { holder: '', suspects: false }, now)
  return asked.type === 'suspect'
}

export function quarantineLease(epoch: number, lapsed: readonly number[], at: Span): Lease {
  return { holder: quarantineHolder, epoch, until: new Span(never), claimedAt: at.copy(), lapsed }
}

export function isQuarantined({ lease }: Conversation): boolean {
  return lease?.holder === quarantineHolder && lease.until.lo === never
}

/** A holder that lives takes its lapse back; a quarantine that rested on it is one no more. */
export function takeBack({ lease }: Conversation, epoch: number): void {
  if (!lease) return
  const isQuarantine = lease.holder === quarantineHolder
  lease.lapsed = lease.lapsed.filter((candidate) => candidate !== epoch)
  if (!isQuarantine || lease.lapsed.length >= mostLapses) return
  lease.until = new Span(0)
  // Long enough before its end that its lapse is not counted.
  lease.claimedAt = new Span(-2 * soonMs)
}
