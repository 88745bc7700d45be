import type { Change } from '../../src/store/change.ts'
import type { Store, TenantStore } from '../../src/store/store.ts'

export type RecordedStore = {
  readonly store: Store
  /** Every change that was committed through it, in the order they were taken. */
  readonly commits: readonly Change[]
  /** How often each method was called. */
  readonly counts: { readonly [method: string]: number }
}

/** The same store, with a record of what is asked of it. */
export function recordedStore(store: Store): RecordedStore {
  const commits: Change[] = []
  const counts: Record<string, number> = {}

  function recorded<T extends Store | TenantStore>(target: T): T {
    return new Proxy(target, {
      get(object, name: string) {
        const member: unknown = Reflect.get(object, name)
        if (typeof member !== 'function') return member
        if (name === 'forTenant') return (tenant: string) => recorded(store.forTenant(tenant))
        return (...args: unknown[]) => {
          counts[name] = (counts[name] ?? 0) + 1
          return name === 'commit' ? commit(member, object, args) : member.apply(object, args)
        }
      },
    })
  }

  // biome-ignore lint/complexity/noBannedTypes: a method of the store, whichever it is
  async function commit(member: Function, object: object, args: unknown[]): Promise<unknown> {
    const result = (await member.apply(object, args)) as { ok: boolean }
    if (result.ok) commits.push(args[1] as Change)
    return result
  }

  return { store: recorded(store), commits, counts }
}
