import type { Store, TenantStore } from '../../store/store.ts'

type Ways = { create(): Store | Promise<Store>; destroy(store: Store): void | Promise<void> }

/**
 * Lends stores to cases, one after the other, because opening one can take longer than the case. What a case wrote is removed before the
 * next has the store; a store on which a case failed is not lent again.
 */
export class SharedStores {
  readonly #ways: Ways
  readonly #free: Store[] = []

  constructor(ways: Ways) {
    this.#ways = ways
  }

  async lend(body: (store: Store) => Promise<void>): Promise<void> {
    const store = this.#free.pop() ?? (await this.#ways.create())
    const traces: Traces = { tenants: new Set(['default']), holders: new Set() }
    try {
      await body(traced(store, traces))
      await removeTraces(store, traces)
    } catch (error) {
      // What the case found matters more than what goes wrong after it.
      await Promise.resolve(this.#ways.destroy(store)).catch(() => {})
      throw error
    }
    this.#free.push(store)
  }

  async destroy(): Promise<void> {
    for (const store of this.#free.splice(0)) await this.#ways.destroy(store)
  }
}

type Traces = { readonly tenants: Set<string>; readonly holders: Set<string> }

function traced(store: Store, traces: Traces): Store {
  return overridden(store, {
    ...leasing(store, traces),
    forTenant(tenant) {
      const handle = store.forTenant(tenant)
      traces.tenants.add(tenant)
      return overridden(handle, leasing(handle, traces))
    },
  })
}

function leasing(handle: TenantStore, { holders }: Traces): Pick<TenantStore, 'acquireLease'> {
  return {
    async acquireLease(id, holder, ttlMs) {
      const lease = await handle.acquireLease(id, holder, ttlMs)
      if (lease) holders.add(holder)
      return lease
    },
  }
}

/** Also for a store that is an instance of a class, whose methods need their own `this`. */
function overridden<T extends object>(target: T, overrides: Partial<T>): T {
  return new Proxy(target, {
    get(_, name) {
      const override = overrides[name as keyof T]
      if (override !== undefined) return override
      const member = target[name as keyof T]
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
}

async function removeTraces(store: Store, { tenants, holders }: Traces): Promise<void> {
  await Promise.all([...tenants].map((tenant) => store.deleteTenant(tenant)))
  // Makes the store forget the leases that went with their tenants.
  await Promise.all([...holders].map((holder) => store.renewLeases(holder, 1_000)))
}
