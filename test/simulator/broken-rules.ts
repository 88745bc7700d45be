import type { NewEvent } from '../../src/log/events.ts'
import type { Change, CommitResult } from '../../src/store/change.ts'
import type { DueClaim } from '../../src/store/claim-due.ts'
import type { LeaseNews } from '../../src/store/lease.ts'
import type { Store } from '../../src/store/store.ts'
import type { BrokenRule } from './plan.ts'
import type { SimulatedProcess } from './simulated-process.ts'

type Commit = (change: Change) => Promise<CommitResult>

type Place = {
  readonly process: SimulatedProcess
  readonly now: number
  /** Of the latest lease on the conversation. */
  readonly epoch: number
}

/** A store that does not keep one of the rules, to see whether anybody notices. */
export function breaking(rule: BrokenRule, commit: Commit, place: Place): Commit {
  return (change) => {
    switch (rule) {
      case 'an owner names the seq it decided on': {
        const { expectedSeq: _, ...rest } = change
        return commit(change.epoch === undefined ? change : rest)
      }
      case 'an owner names its epoch':
        return change.epoch === undefined ? commit(change) : underAnyEpoch(change, commit, place)
      case 'a key is taken once': {
        const { key: _, digest: __, ...rest } = change
        return commit(rest)
      }
      case 'a round is resolved once':
        return withoutGuard(change, commit)
      case 'a start is durable before its tool runs':
        return has(change, 'tool_started') ? answeredEarly(change, commit, place) : commit(change)
      case 'what is told is durable':
        return isAnswer(change) ? answeredEarly(change, commit, place) : commit(change)
      case 'an answer wakes the conversation':
        return commit(isAnswer(change) ? { ...change, wakeAt: null } : change)
      // See `breakingCalls`.
      case 'a process renews only the leases it knows':
      case 'a process holds one conversation with lapses at a time':
      case 'lapses are counted':
        return commit(change)
    }
  }
}

function has({ events }: Change, type: NewEvent['type']): boolean {
  return events.some((event) => event.type === type)
}

function isAnswer(change: Change): boolean {
  return has(change, 'resolution') && change.epoch === undefined
}

/** The current holder: without a check that it is the same one. */
async function underAnyEpoch(change: Change, commit: Commit, { epoch }: Place): Promise<CommitResult> {
  const result = await commit({ ...change, epoch })
  if (result.ok || result.conflict !== 'epoch') return result
  const { epoch: _, lease: __, ...rest } = change
  return commit(rest)
}

/** The row is ended by every caller, but no caller is refused. */
async function withoutGuard(change: Change, commit: Commit): Promise<CommitResult> {
  const result = await commit(change)
  if (result.ok || result.conflict !== 'stale') return result
  const { resolve: _, ...rest } = change
  return commit(rest)
}

/** Says that it is done, and does it a little later. */
async function answeredEarly(change: Change, commit: Commit, { process, now }: Place): Promise<CommitResult> {
  const { expectedSeq = 0, events } = change
  setImmediate(() => process.enter(() => void commit(change)))
  return { ok: true, seq: expectedSeq + events.length, at: now }
}

/** The same for what is asked of the store beside commits. */
export async function breakingCall(
  rule: BrokenRule | null,
  data: Store,
  name: string,
  args: readonly unknown[],
  make: (args: readonly unknown[]) => Promise<unknown>,
): Promise<unknown> {
  if (rule === 'a process renews only the leases it knows' && name === 'keepLeases') return keepAll(data, args)
  if (rule === 'a process holds one conversation with lapses at a time') {
    if (name === 'claimLease') return make([...args.slice(0, 3), { suspects: true }])
    if (name === 'claimDue') return make([{ ...(args[0] as DueClaim), suspects: 1_000 }])
  }
  if (rule === 'lapses are counted' && name === 'claimLease') {
    const [id, holder] = args as [string, string]
    // The last holder is taken for one that released it in good order.
    const found = await data.claimLease(id, `${holder} looking`, 1)
    if (found.type === 'taken') await data.releaseLease(id, found.epoch)
  }
  if (rule === 'lapses are counted' && name === 'claimDue') {
    const claim = args[0] as DueClaim
    const looking = { ...claim, holder: `${claim.holder} looking`, ttlMs: 1, suspects: 1_000, limit: 1_000 }
    for (const found of await data.claimDue(looking)) {
      if (found.type === 'taken') await data.forTenant(found.tenant).releaseLease(found.id, found.epoch)
    }
  }
  return make(args)
}

async function keepAll(data: Store, args: readonly unknown[]): Promise<LeaseNews> {
  const [holder, ttlMs, known] = args as Parameters<Store['keepLeases']>
  const news = await data.keepLeases(holder, ttlMs, known)
  await data.keepLeases(
    holder,
    ttlMs,
    news.strays.map((lease) => ({ ...lease, seq: 0 })),
  )
  return { ...news, strays: [] }
}
