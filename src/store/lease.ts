import { pause } from '../base/abort.ts'
import { type Clock, delayAfter } from '../base/clock.ts'
import { type ConversationRef, conversationKey } from './records.ts'
import { areLimited, type SlotLimit, type SlotLimits } from './slots.ts'
import type { WakeHint } from './store.ts'

/** A lease, as work that depends on it sees it. */
export type Lease = {
  readonly epoch: number
  /** Whether no other process can have taken the lease, by this machine's own clock: it was requested less than its duration ago. */
  isCertain(): boolean
  /** Renews the lease, so that it is certain again. Never rejects; `isCertain` says whether it worked. */
  renew(): Promise<void>
  /** Another process has the lease. */
  lose(): void
}

const renewalDelays = { firstMs: 20, mostMs: 1_000 }

/**
 * For work that must not start once another process may hold the conversation. True: it may start now, and must start without awaiting anything. False: the
 * caller called it off. Until then the lease is renewed, for as long as the store takes.
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

/** A lease, by its conversation and epoch. */
export type LeaseRef = ConversationRef & { readonly epoch: number }

/** A lease as its holder knows it; `seq` is how far the holder knows the log. */
export type KnownLease = LeaseRef & { readonly seq: number }

/** How a renewal's findings differ from what the holder knows. Lists are empty when nothing differs. */
export type LeaseNews = {
  /** No longer the holder's: another holder took the conversation, or it was deleted. */
  readonly lost: readonly LeaseRef[]
  /** Renewed, and the log is longer than the holder knows. */
  readonly grown: readonly WakeHint[]
  /** Under the holder's name, but unknown to it. They were not renewed. */
  readonly strays: readonly LeaseRef[]
}

/** For drivers that have read all rows under a holder's name. The known ones must already be renewed. */
export function leaseNews(known: readonly KnownLease[], rows: readonly KnownLease[]): LeaseNews {
  const rowsByEpoch = new Map(rows.map((row) => [row.epoch, row]))
  const knownEpochs = new Set(known.map(({ epoch }) => epoch))
  return {
    lost: known.filter(({ epoch }) => !rowsByEpoch.has(epoch)).map(leaseRef),
    grown: known.flatMap(({ tenant, id, epoch, seq }) => {
      const lastSeq = rowsByEpoch.get(epoch)?.seq ?? 0
      return lastSeq > seq ? [{ tenant, id, seq: lastSeq }] : []
    }),
    strays: rows.filter(({ epoch }) => !knownEpochs.has(epoch)).map(leaseRef),
  }
}

function leaseRef({ tenant, id, epoch }: LeaseRef): LeaseRef {
  return { tenant, id, epoch }
}

type Held = LeaseRef & { readonly holder: string }

/** Remembers the leases taken through this store, so that a released lease is never reported as lost. */
export class HeldLeases {
  readonly #byEpoch = new Map<number, Held>()
  readonly #byConversation = new Map<string, number>()
  readonly #beingLetGo = new Set<number>()

  add(held: Held): void {
    const key = keyOf(held)
    const earlier = this.#byConversation.get(key)
    // The first of two concurrent claims may be answered last; the lease then already belongs to the second.
    if (earlier !== undefined && earlier > held.epoch) return
    if (earlier !== undefined) this.#byEpoch.delete(earlier)
    this.#byConversation.set(key, held.epoch)
    this.#byEpoch.set(held.epoch, held)
  }

  /** Does nothing when the conversation is not held under this epoch. */
  remove({ tenant, id, epoch }: LeaseRef): void {
    const held = this.#byEpoch.get(epoch)
    if (held?.tenant !== tenant || held.id !== id) return
    this.#byEpoch.delete(epoch)
    if (this.#byConversation.get(keyOf(held)) === epoch) this.#byConversation.delete(keyOf(held))
  }

  /**
   * Runs work that releases a lease. The lease may be gone long before the acknowledgement arrives, and is not reported as lost until then. It is kept when the
   * work fails or answers that it did not release it.
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

  /** All leases of a holder, as if it knew all of their logs. */
  of(holder: string): KnownLease[] {
    const held = [...this.#byEpoch.values()].filter((candidate) => candidate.holder === holder)
    return held.map(({ tenant, id, epoch }) => ({ tenant, id, epoch, seq: Number.MAX_SAFE_INTEGER }))
  }

  /** The leases that have not been released since. */
  withoutReleased<Lease extends LeaseRef>(leases: readonly Lease[]): Lease[] {
    return leases.filter(({ epoch }) => this.#byEpoch.has(epoch))
  }

  /** The leases that are gone without a release. */
  lost(leases: readonly LeaseRef[]): LeaseRef[] {
    return this.withoutReleased(leases).filter(({ epoch }) => !this.#beingLetGo.has(epoch))
  }
}

function keyOf({ tenant, id, holder }: Held): string {
  return conversationKey(tenant, id) + holder
}

/** A lease that lapsed this soon after its claim, without a release, may have lapsed because its conversation killed the process. */
export const lapseWithinMs = 5 * 60_000

/** A conversation is quarantined after this many lapses in a row. */
export const mostLapses = 5

/** The holder of a quarantined conversation: no process has this name, and the lease does not lapse. Otherwise it is an ordinary lease. */
export const quarantineHolder = 'quarantined'
export const quarantineUntil = Number.MAX_SAFE_INTEGER

/** Options of a claim. */
export type ClaimOptions = {
  /** False: leave conversations whose last leases lapsed alone. Default: true. */
  readonly suspects?: boolean
  /** The claim is refused where one of them is reached. Default: none. */
  readonly limits?: SlotLimits
}

/** The outcome of a claim. */
export type ClaimOutcome =
  /** `lapses`: how many leases on it have lapsed in a row, each without a release and soon after its claim. */
  | { readonly type: 'taken'; readonly epoch: number; readonly lapses: number }
  /** The lapse that this claim found was one too many: no process takes the conversation until a person releases it. */
  | { readonly type: 'quarantined' }
  /** The conversation has lapses, and the claim skips such conversations. */
  | { readonly type: 'suspect' }
  /** As many conversations are held as this limit allows. */
  | { readonly type: 'limited'; readonly limit: SlotLimit }
  /** Another holder has it, it is quarantined or paused, or it does not exist. */
  | { readonly type: 'held' }

/** A lease as a driver stores it. */
export type StoredLease = {
  readonly holder: string
  readonly epoch: number
  readonly until: number
  /** Null when an older version, without this column, claimed it. */
  readonly claimedAt: number | null
  /** The epochs of the earlier leases that lapsed. */
  readonly lapsed: readonly number[]
  /** The account it was claimed under; absent where none was named. */
  readonly account?: string
}

type Claim = {
  readonly holder: string
  readonly epoch: () => number
  readonly ttlMs: number
  readonly suspects: boolean
  readonly limits?: SlotLimits
  /** The limit that keeps this conversation from being claimed, counted without its own lease. Asked only where `limits` has one. Default: none. */
  readonly reached?: (limits: SlotLimits) => SlotLimit | null
}

/** Decides what a claim does to the lease it finds, for drivers that decide in code. `lease` is what it becomes; null: it stays as it is. */
export function judgeClaim(
  current: StoredLease | null,
  claim: Claim,
  now: number,
): { readonly outcome: ClaimOutcome; readonly lease: StoredLease | null } {
  const { holder, ttlMs } = claim
  const isFree = current === null || current.holder === holder || current.until <= now
  if (!isFree) return { outcome: { type: 'held' }, lease: null }
  const lapsed = current ? [...current.lapsed, ...(hasLapsedSoon(current, holder, now) ? [current.epoch] : [])] : []
  if (lapsed.length > 0 && !claim.suspects) return { outcome: { type: 'suspect' }, lease: null }
  const { limits = {} } = claim
  const limit = areLimited(limits) ? (claim.reached?.(limits) ?? null) : null
  if (limit !== null) return { outcome: { type: 'limited', limit }, lease: null }
  const epoch = claim.epoch()
  if (lapsed.length >= mostLapses)
    return { outcome: { type: 'quarantined' }, lease: quarantineLease(epoch, lapsed, now) }
  const account = limits.account === undefined ? {} : { account: limits.account.name }
  const lease = { holder, epoch, until: now + ttlMs, claimedAt: now, lapsed, ...account }
  return { outcome: { type: 'taken', epoch, lapses: lapsed.length }, lease }
}

/** A holder that reclaims its own lease is alive, so the lease did not lapse because it died. */
function hasLapsedSoon(current: StoredLease, holder: string, now: number): boolean {
  const { until, claimedAt } = current
  return current.holder !== holder && until <= now && claimedAt !== null && until - claimedAt <= lapseWithinMs
}

function quarantineLease(epoch: number, lapsed: readonly number[], now: number): StoredLease {
  return { holder: quarantineHolder, epoch, until: quarantineUntil, claimedAt: now, lapsed }
}

/** Whether a claim by another holder would find lapses. */
export function isSuspect(current: StoredLease | null, now: number): boolean {
  return current !== null && (current.lapsed.length > 0 || hasLapsedSoon(current, '', now))
}

/**
 * The lease after a holder that lost an earlier one reports that it is alive. If that leaves too few lapses for a quarantine, the conversation can be claimed
 * again.
 */
export function withoutLapse(current: StoredLease, epoch: number): StoredLease {
  const lapsed = current.lapsed.filter((candidate) => candidate !== epoch)
  const isLifted = current.holder === quarantineHolder && lapsed.length < mostLapses
  return { ...current, lapsed, ...(isLifted ? { until: 0, claimedAt: null } : {}) }
}

/** A smaller step back is normal: several processes on one machine, or a server that corrects its clock. */
const toleranceMs = 1_000

/** What a query for work learned about the store's clock. `first`: there is no earlier reading. `back`: an earlier reading was later. */
export type ClockChange = 'first' | 'back' | 'forward'

/** Detects that a store's clock was put back, from the times of its queries for work. Such a query must then repair what `Driver.dueWork` describes. */
export class ClockWatch {
  #last: number | null = null

  observe(now: number): ClockChange {
    if (this.#last === null) return 'first'
    return now < this.#last - toleranceMs ? 'back' : 'forward'
  }

  /** Everything is repaired as of this time. Must not be called earlier: a repair that failed is tried again with the next query. */
  repairedAt(now: number): void {
    this.#last = now
  }
}

/** The longest lease another process can have, as seen by a process with leases of `leaseMs`. A longer lease was taken by a clock that was ahead. */
export function longestLease(leaseMs: number): number {
  return 3 * leaseMs
}
