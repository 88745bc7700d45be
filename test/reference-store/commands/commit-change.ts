import type { Change, CommitResult } from '../../../src/store/change.ts'
import type { Span } from '../compare/span.ts'
import { type Committed, commit } from '../contract/commit.ts'
import { claim, isLeased } from '../contract/leases.ts'
import { events } from '../contract/queries.ts'
import type { Observed, World } from '../world.ts'
import { learnQuarantine, quarantined, takeLease } from './take-lease.ts'

type Place = { readonly tenant: string; readonly id: string; readonly via: number }

/** Commits to the store and to the reference. */
export async function commitChange(world: World, place: Place, change: Change): Promise<CommitResult | undefined> {
  const observed = await world.observe(() => world.handle(place.tenant, place.via).commit(place.id, change))
  return checkCommit(world, place, change, observed)
}

/** For what was observed earlier, as several at once. */
export async function checkCommit(
  world: World,
  place: Place,
  change: Change,
  observed: Observed<CommitResult>,
): Promise<CommitResult | undefined> {
  return world.check(observed, async (at, actual) => {
    const expected = expectedCommit(world, place, change, at, actual)
    await learnQuarantine(world, place)
    return expected
  })
}

/** What the store must answer; the reference has made the change when it was accepted. */
function expectedCommit(
  world: World,
  place: Place,
  change: Change,
  at: Span,
  actual: CommitResult | undefined,
): unknown {
  const { tenant, id, via } = place
  const lastSeq = world.contract.tenant(tenant).conversations.get(id)?.events.length ?? 0
  const result = commit(world.contract.tenant(tenant), id, change, at)
  if (!result.ok) {
    world.tally.refusals += 1
    return withWinner(world, tenant, id, result, actual)
  }
  if (change.lease === 'release' && change.epoch !== undefined) world.holding(via).gave(tenant, id, change.epoch)
  const told = { ok: true, seq: result.seq, ...takenLease(world, place, change, at, actual, result.isKnown) }
  // A store may tell when it was; then it is the time of the events. One that was known by its key has none.
  const written = world.contract.tenant(tenant).conversations.get(id)!.events.slice(lastSeq)
  return actual?.ok && actual.at !== undefined
    ? { ...told, at: written.at(-1)?.at ?? (result.isKnown ? null : at.copy()) }
    : told
}

/** A change may take the lease with it, if it is free. One that is known by its key has what it took the first time, if that is still so. */
function takenLease(
  world: World,
  { tenant, id, via }: Place,
  { acquire, key }: Change,
  at: Span,
  actual: CommitResult | undefined,
  isKnown: boolean,
): { readonly epoch?: number } {
  const conversation = world.contract.tenant(tenant).conversations.get(id)!
  if (!acquire) return {}
  const { holder, ttlMs } = acquire
  const keyed = key === undefined ? undefined : conversation.keys.get(key)
  if (isKnown) {
    const { lease } = conversation
    if (!lease || lease.epoch !== keyed?.epoch || lease.holder !== holder) return {}
    lease.until = at.plus(ttlMs)
    world.holding(via).took(tenant, id, holder, lease.epoch)
    return { epoch: lease.epoch }
  }
  if (isLeased(conversation, at)) return {}
  const claimed = claim(conversation, { holder, suspects: acquire.suspects ?? true }, at)
  if (claimed.type === 'quarantined') conversation.lease = quarantined(claimed.lapsed, at)
  if (claimed.type !== 'taken') return {}
  const { lapsed } = claimed
  const epoch = takeLease(world, { tenant, id, via, holder, ttlMs, lapsed }, at, actual?.ok ? actual.epoch : undefined)
  if (keyed) keyed.epoch = epoch
  return { epoch }
}

/** A stale answer names the resolution it lost to. Where the log has several of that round, any of them. */
function withWinner(
  world: World,
  tenant: string,
  id: string,
  { winners, ...result }: Committed & { ok: false },
  actual: CommitResult | undefined,
): unknown {
  if (winners.length === 0) return result
  const told = actual && !actual.ok ? actual.winner?.seq : undefined
  const seq = winners.find((candidate) => candidate === told) ?? winners[0]!
  return { ...result, winner: events(world.contract.tenant(tenant), id)[seq - 1] }
}
