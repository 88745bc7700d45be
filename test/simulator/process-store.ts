import type { Change, CommitResult } from '../../src/store/change.ts'
import type { ClaimedDue, DueClaim } from '../../src/store/claim-due.ts'
import type { Store, TenantStore } from '../../src/store/store.ts'
import type { SimulatedProcess } from './simulated-process.ts'

/** How a write takes a lease: not at all, as a claim, or with a commit. */
export type LeaseTaking = 'none' | 'claim' | Change

/** What happens around the calls that a process makes to the store. */
export type Calls = {
  /** Before each call that is not a matter of the clock. */
  before(): Promise<void>
  /** Throws where the store does not answer. */
  refuse(name: string, args: readonly unknown[]): void
  /** Around everything that is written, in a transaction of its own. */
  write<T>(write: () => Promise<T>, lease: LeaseTaking): Promise<T>
  /** Makes a commit, or does what is to happen instead. */
  commit(id: string, change: Change, commit: (change: Change) => Promise<CommitResult>): Promise<CommitResult>
  /** Makes another call, or does what is to happen instead. */
  instead(
    name: string,
    args: readonly unknown[],
    make: (args: readonly unknown[]) => Promise<unknown>,
  ): Promise<unknown>
  /** It has just taken a conversation. */
  leased(id: string, epoch: number): Promise<void>
}

/** These are made when time passes: steps that counted them would depend on how much of it does. */
const timed = new Set(['dueWork', 'claimDue', 'keepLeases', 'getConversation'])

const writing = new Set(['commit', 'claimLease', 'releaseLease', 'putSummary', 'putModelCall', 'putBlob'])

/** The shared store as one process sees it: a dead process is never answered, a stalled one later. */
export function processStore(data: Store, process: SimulatedProcess, calls: Calls): Store {
  const wrap = <T extends Store | TenantStore>(target: T): T =>
    new Proxy(target, {
      get(object, name: string) {
        const member: unknown = Reflect.get(object, name)
        if (typeof member !== 'function') return member
        if (name === 'forTenant') return (tenant: string) => wrap(data.forTenant(tenant))
        if (name === 'onWake') return onWake
        return (...args: unknown[]) => call(name, args, (given) => member.apply(object, given))
      },
    })

  const onWake: Store['onWake'] = (listener) => data.onWake((hint) => process.enter(() => listener(hint)))

  async function call(name: string, args: unknown[], invoke: (args: unknown[]) => Promise<unknown>): Promise<unknown> {
    await process.goOn()
    const claims = name === 'claimDue' && (await mayClaim(data, args[0] as DueClaim))
    if (!timed.has(name) || claims) await calls.before()
    await process.goOn()
    calls.refuse(name, args)
    const [id, change] = args as [string, Change]
    const make = (): Promise<unknown> =>
      name === 'commit'
        ? calls.commit(id, change, (given) => invoke([id, given]) as Promise<CommitResult>)
        : calls.instead(name, args, (given) => invoke([...given]))
    const answer = writing.has(name) || claims ? calls.write(make, leaseTaking(name, change)) : make()
    // Also a failure is heard of only by who is there to hear it.
    await Promise.allSettled([answer])
    await process.goOn()
    const result = await answer
    if (name === 'claimLease' || name === 'commit') {
      const { epoch } = (result ?? {}) as { readonly epoch?: number }
      if (epoch !== undefined) await calls.leased(id, epoch)
    }
    if (name === 'claimDue') {
      for (const one of result as ClaimedDue[]) if (one.type === 'taken') await calls.leased(one.id, one.epoch)
    }
    return result
  }

  return wrap(data)
}

/** A claim that finds nothing is made whenever time passes. */
async function mayClaim(data: Store, { agents, suspects = 0, except = [] }: DueClaim): Promise<boolean> {
  for (const { tenant, id } of await data.dueWork({ agents, limit: 1_000, suspects: suspects && 1_000 })) {
    const left = except.find((one) => one.tenant === tenant && one.id === id)
    const record = left && (await data.forTenant(tenant).getConversation(id))
    if (!left || (left.seq !== null && left.seq < (record?.lastSeq ?? 0))) return true
  }
  return false
}

function leaseTaking(name: string, change: Change): LeaseTaking {
  if (name === 'claimLease' || name === 'claimDue') return 'claim'
  return name === 'commit' && change.acquire !== undefined ? change : 'none'
}
