import type { Change } from '../../src/store/change.ts'
import type { Store, TenantStore } from '../../src/store/store.ts'

/** The same store, whose process dies right before a commit. */
export function dyingBefore(
  store: Store,
  isLast: (change: Change) => boolean,
  die: (id: string, change: Change) => unknown,
): Store {
  const wrap = <T extends Store | TenantStore>(target: T): T =>
    new Proxy(target, {
      get(object, name) {
        const member: unknown = Reflect.get(object, name)
        if (name === 'forTenant') return (tenant: string) => wrap(store.forTenant(tenant))
        if (name !== 'commit' || typeof member !== 'function') return member
        return async (id: string, change: Change) => {
          if (isLast(change)) await die(id, change)
          return member.call(object, id, change)
        }
      },
    })
  return wrap(store)
}
