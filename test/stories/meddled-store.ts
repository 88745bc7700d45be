import type { Change } from '../../src/store/change.ts'
import type { Store, TenantStore } from '../../src/store/store.ts'

/** The same store, with another writer that may write just before each commit, of the owner by default, so that the commit finds a log it did not know. */
export function meddledStore(
  store: Store,
  meddle: (change: Change) => Promise<unknown>,
  isMeant = (change: Change) => change.epoch !== undefined,
): Store {
  return meddled(store)

  function meddled<T extends Store | TenantStore>(target: T): T {
    return new Proxy(target, {
      get(object, name) {
        const member: unknown = Reflect.get(object, name)
        if (name === 'forTenant') return (tenant: string) => meddled(store.forTenant(tenant))
        if (name !== 'commit' || typeof member !== 'function') return member
        return async (id: string, change: Change) => {
          if (isMeant(change)) await meddle(change)
          return member.call(object, id, change)
        }
      },
    })
  }
}
