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

export type Claim = {
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
