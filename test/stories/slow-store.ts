import type { Store, TenantStore } from '../../src/store/store.ts'
import { gate } from './gate.ts'

/** The same store, with one method that does not answer until it is let go on. By default it writes only then, too. */
export function slowStore(store: Store, method: keyof Store, { isWritten = false } = {}) {
  const called = gate()
  const released = gate()

  function slowed<T extends Store | TenantStore>(target: T): T {
    return new Proxy(target, {
      get(object, name) {
        const member: unknown = Reflect.get(object, name)
        if (name === 'forTenant') return (tenant: string) => slowed(store.forTenant(tenant))
        if (name !== method || typeof member !== 'function') return member
        return async (...args: unknown[]) => {
          const written = isWritten ? await member.apply(object, args) : null
          called.open()
          await released.opened
          return isWritten ? written : member.apply(object, args)
        }
      },
    })
  }

  return { store: slowed(store), isCalled: called.opened, goOn: released.open }
}
