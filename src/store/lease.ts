import { pause } from '../base/abort.ts'
import { type Clock, delayAfter } from '../base/clock.ts'
import { type ConversationRef, conversationKey } from './records.ts'
import type { WakeHint } from './store.ts'

/** A lease as those who work under it see it. */
export type Lease = {
  readonly epoch: number
  /** Whether no other process can have taken it, by this machine's own clocks: it was asked for less than its time ago. */
  isCertain(): boolean
  /** Renews it, so that it is certain again. Does not reject; `isCertain` tells what came of it. */
  renew(): Promise<void>
  /** Another process has it. */
  lose(): void
}

const renewalDelays = { firstMs: 20, mostMs: 1_000 }

/**
 * For what must not begin once another process may have the conversation. True: it may, now; what follows must not wait for anything. False: whoever waited
 * does not want to any more. In between the lease is renewed, for as long as the store takes.
 */
export async function retryUntilAnswered(lease: Lease, clock: Clock, isCalledOff: () => boolean): Promise<boolean> {
  for (let failures = 1; !isCalledOff(); failures += 1) {
    if (lease.isCertain()) return true
    await lease.renew()
    if (lease.isCertain() || isCalledOff()) continue
    await pause(delayAfter(failures, renewalDelays), { clock, unref: true })
  }
  return false
}

/** A lease by its conversation and epoch. */
export type LeaseRef = ConversationRef & { readonly epoch: number }

/** A lease as its holder knows it: `seq` is how far it knows the log. */
export type KnownLease = LeaseRef & { readonly seq: number }

/** What a renewal found to be other than the holder knew. Empty lists when nothing is. */
export type LeaseNews = {
  /** No longer the holder's: another has taken the conversation, or it was deleted. */
  readonly lost: readonly LeaseRef[]
  /** Renewed, and the log is longer than the holder knows. */
  readonly grown: readonly WakeHint[]
  /** Under the holder's name, and it does not know of them. They were not renewed. */
  readonly strays: readonly LeaseRef[]
}

/** For drivers that have read all rows under a holder's name. Those it knows must have been renewed. */
export function leaseNews(known: readonly KnownLease[], rows: readonly KnownLease[]): LeaseNews {
  const found = new Map(rows.map((row) => [row.epoch, row]))
  const knownEpochs = new Set(known.map(({ epoch }) => epoch))
  return {
    lost: known.filter(({ epoch }) => !found.has(epoch)).map(leaseRef),
    grown: known.flatMap(({ tenant, id, epoch, seq }) => {
      const lastSeq = found.get(epoch)?.seq ?? 0
      return lastSeq > seq ? [{ tenant, id, seq: lastSeq }] : []
    }),
    strays: rows.filter(({ epoch }) => !knownEpochs.has(epoch)).map(leaseRef),
  }
}

function leaseRef({ tenant, id, epoch }: LeaseRef): LeaseRef {
  return { tenant, id, epoch }
}

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

/** A lease that lapsed without a release so soon after it was claimed may have lapsed because its conversation killed the process. */
export const lapseWithinMs = 5 * 60_000

/** With so many lapses in a row a conversation is quarantined. */
export const mostLapses = 5

/** Who holds a conversation that is quarantined: no process has this name, and the lease does not lapse. So nothing but its end is special. */
export const quarantineHolder = 'quarantined'
export const quarantineUntil = Number.MAX_SAFE_INTEGER

/** What a claim is asked for. */
export type ClaimOptions = {
  /** False: a conversation whose last leases lapsed is left alone. Default: true. */
  readonly suspects?: boolean
}

/** How a claim went. */
export type ClaimOutcome =
  /** `lapses`: how many leases on it have lapsed in a row, each without a release and soon after its claim. */
  | { readonly type: 'taken'; readonly epoch: number; readonly lapses: number }
  /** The lapse that this claim found was one too many: from now on no process takes it, until a person releases it. */
  | { readonly type: 'quarantined' }
  /** It has lapses, and the claim was asked to leave such alone. */
  | { readonly type: 'suspect' }
  /** Another has it, it is quarantined, or it is not there. */
  | { readonly type: 'held' }

/** A lease as a driver holds it. */
export type StoredLease = {
  readonly holder: string
  readonly epoch: number
  readonly until: number
  /** Null where a version that did not know of it has claimed it. */
  readonly claimedAt: number | null
  /** The epochs of the leases before it that lapsed. */
  readonly lapsed: readonly number[]
}

type Claim = {
  readonly holder: string
  readonly epoch: () => number
  readonly ttlMs: number
  readonly suspects: boolean
}

/** What a claim makes of the lease it finds, for drivers that decide in code. `lease` is what it becomes; null: it stays as it is. */
export function judgeClaim(
  found: StoredLease | null,
  claim: Claim,
  now: number,
): { readonly outcome: ClaimOutcome; readonly lease: StoredLease | null } {
  const { holder, ttlMs } = claim
  const isFree = found === null || found.holder === holder || found.until <= now
  if (!isFree) return { outcome: { type: 'held' }, lease: null }
  const lapsed = found ? [...found.lapsed, ...(hasLapsedSoon(found, holder, now) ? [found.epoch] : [])] : []
  if (lapsed.length > 0 && !claim.suspects) return { outcome: { type: 'suspect' }, lease: null }
  const epoch = claim.epoch()
  if (lapsed.length >= mostLapses)
    return { outcome: { type: 'quarantined' }, lease: quarantineLease(epoch, lapsed, now) }
  const lease = { holder, epoch, until: now + ttlMs, claimedAt: now, lapsed }
  return { outcome: { type: 'taken', epoch, lapses: lapsed.length }, lease }
}

/** One that takes back its own lease lives, so its lease did not lapse because it died. */
function hasLapsedSoon(found: StoredLease, holder: string, now: number): boolean {
  const { until, claimedAt } = found
  return found.holder !== holder && until <= now && claimedAt !== null && until - claimedAt <= lapseWithinMs
}

function quarantineLease(epoch: number, lapsed: readonly number[], now: number): StoredLease {
  return { holder: quarantineHolder, epoch, until: quarantineUntil, claimedAt: now, lapsed }
}

/** Whether a claim by somebody else would find lapses. */
export function isSuspect(found: StoredLease | null, now: number): boolean {
  return found !== null && (found.lapsed.length > 0 || hasLapsedSoon(found, '', now))
}

/**
 * What becomes of a lease when a holder that lost an earlier one tells that it lives. Where that makes the lapses too few for a quarantine, the
 * conversation can be claimed again.
 */
export function withoutLapse(found: StoredLease, epoch: number): StoredLease {
  const lapsed = found.lapsed.filter((candidate) => candidate !== epoch)
  const isLifted = found.holder === quarantineHolder && lapsed.length < mostLapses
  return { ...found, lapsed, ...(isLifted ? { until: 0, claimedAt: null } : {}) }
}
