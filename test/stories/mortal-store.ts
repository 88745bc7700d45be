import { StoreClosedError } from '../../src/base/errors/store-errors.ts'
import type { Store, TenantStore } from '../../src/store/store.ts'

export type MortalStore = {
  readonly store: Store
  /** From now on nothing is read or written through it, as when the process was killed. Its leases lapse by themselves. */
  kill(): void
  /** From now on its leases are not renewed, as when the process was stopped for a while. It can still read and write. Returns what ends it. */
  freeze(): () => void
  /** From now on it is not told when a log has grown, as when the connection for hints was lost. */
  deafen(): void
}

/** The same data through a handle that can die, so that one process can tell the story of two. */
export function mortalStore(store: Store): MortalStore {
  let isDead = false
  let isFrozen = false
  let isDeaf = false

  function guarded<T extends Store | TenantStore>(target: T): T {
    return new Proxy(target, {
      get(object, name) {
        const member: unknown = Reflect.get(object, name)
        if (typeof member !== 'function') return member
        if (name === 'forTenant') return (tenant: string) => guarded(store.forTenant(tenant))
        // A process that was killed goes on being named for a while.
        if (name === 'announce') return member
        if (name === 'onWake') return (listener: Listener) => store.onWake((hint) => isDead || isDeaf || listener(hint))
        if (name === 'keepLeases' && isFrozen) return async () => ({ lost: [], grown: [], strays: [] })
        return async (...args: unknown[]) => {
          if (isDead) throw new StoreClosedError()
          const result: unknown = await member.apply(object, args)
          // What was under way when the process died may be written, but is never acknowledged.
          if (isDead) throw new StoreClosedError()
          return result
        }
      },
    })
  }

  return {
    store: guarded(store),
    kill: () => void (isDead = true),
    freeze: () => {
      isFrozen = true
      return () => void (isFrozen = false)
    },
    deafen: () => void (isDeaf = true),
  }
}

type Listener = Parameters<Store['onWake']>[0]
