import { setTimeout as sleep } from 'node:timers/promises'
import type { ErrorCode } from '../../base/errors/codes.ts'
import { PerdureError } from '../../base/errors/perdure-error.ts'
import type { Store, TenantStore } from '../../store/store.ts'
import type { StoreUnderTest, TestRunner } from '../test-store.ts'

/** What the files of the suite are written with. */
export type Suite = Pick<TestRunner, 'describe' | 'expect'> & {
  /** A case on a store that is empty at its start. Must not close it or listen to it. */
  test(name: string, body: (bench: Bench) => Promise<void>): void
  /** A case on a store of its own, which no other case uses. */
  testAlone(name: string, body: (bench: Bench) => Promise<void>): void
  /** A case that closes the store and opens it again; skipped without `reopen`. */
  testReopening(name: string, body: (bench: Bench & { reopen(): Promise<Store> }) => Promise<void>): void
  /** A case with a second store over the same data; skipped without `openAnother`. */
  testTwoStores(name: string, body: (bench: Bench & { other: Store }) => Promise<void>): void
  /** A case that lets much time pass at once; skipped without `clock`. */
  testLeaping(name: string, body: (bench: Bench & { leap(ms: number): Promise<void> }) => Promise<void>): void
  /** A case on a store without audit; skipped without `createWithoutAudit`. */
  testWithoutAudit(name: string, body: (bench: Bench) => Promise<void>): void
  /** The call must be refused with an error of this code. The label is shown when it is not. */
  refused(code: ErrorCode, call: () => unknown, label?: string): Promise<Error>
}

export type Bench = {
  readonly store: Store
  /** Whether the data outlives the store, so that the cases that need it ran. */
  readonly canReopen: boolean
  /** Lets at least `ms` pass for the store. */
  pass(ms: number): Promise<void>
  /** Waits until the check returns something, however slow the machine is. */
  eventually<T>(what: string, check: () => Promise<T | false | null | undefined>): Promise<T>
}

/** Less than the five seconds that runners give a test. */
const patienceMs = 4_000
const pollMs = 10

export function createSuite(runner: TestRunner, options: StoreUnderTest): Suite {
  const { describe, test, expect } = runner
  const { clock, openAnother } = options
  const reopen = options.reopen ?? (openAnother && closeAndOpen(openAnother))

  async function pass(ms: number): Promise<void> {
    if (clock) await clock.advance(ms)
    // A timer may fire up to a millisecond before the wall clock has moved that far.
    else await sleep(ms + 2)
  }

  async function eventually<T>(what: string, check: () => Promise<T | false | null | undefined>): Promise<T> {
    for (let waited = 0; waited < patienceMs; waited += pollMs) {
      const found = await check()
      if (found !== false && found !== null && found !== undefined) return found
      await pass(pollMs)
    }
    throw new Error(`timed out waiting until ${what}`)
  }

  async function withStore(create: () => Store | Promise<Store>, body: (held: Held) => Promise<void>): Promise<void> {
    const held: Held = { store: await create(), others: [] }
    const cleanUp = async () => {
      for (const other of held.others) await other.close()
      await options.destroy(held.store)
    }
    try {
      await body(held)
    } catch (error) {
      // The failure of the case matters more than an error while cleaning up.
      await cleanUp().catch(() => {})
      throw error
    }
    await cleanUp()
  }

  const shared = runner.afterAll ? new SharedStores(options) : null
  runner.afterAll?.(async () => shared?.destroy())

  const bench = { canReopen: reopen !== undefined, pass, eventually }

  return {
    describe,
    expect,
    test(name, body) {
      if (shared) test(name, () => shared.lend((store) => body({ ...bench, store })))
      else test(name, () => withStore(options.create, ({ store }) => body({ ...bench, store })))
    },
    testAlone(name, body) {
      test(name, () => withStore(options.create, ({ store }) => body({ ...bench, store })))
    },
    testReopening(name, body) {
      const run = reopen ? test : test.skip
      run(name, () =>
        withStore(options.create, async (held) => {
          const again = async () => {
            held.store = await reopen!(held.store)
            return held.store
          }
          await body({ ...bench, store: held.store, reopen: again })
        }),
      )
    },
    testTwoStores(name, body) {
      const run = openAnother ? test : test.skip
      run(name, () =>
        withStore(options.create, async (held) => {
          const other = await openAnother!(held.store)
          held.others.push(other)
          await body({ ...bench, store: held.store, other })
        }),
      )
    },
    testLeaping(name, body) {
      const run = clock ? test : test.skip
      const leap = (ms: number) => clock!.set(clock!.now() + ms)
      run(name, () => withStore(options.create, ({ store }) => body({ ...bench, store, leap })))
    },
    testWithoutAudit(name, body) {
      const { createWithoutAudit } = options
      const run = createWithoutAudit ? test : test.skip
      run(name, () => withStore(createWithoutAudit!, ({ store }) => body({ ...bench, store })))
    },
    async refused(code, call, label = '') {
      const error = await thrownBy(call)
      if (error !== null && !PerdureError.isInstance(error)) throw error
      expect([label, error?.code ?? 'no error']).toEqual([label, code])
      return error as PerdureError
    },
  }
}

type Held = { store: Store; readonly others: Store[] }

function closeAndOpen(openAnother: NonNullable<StoreUnderTest['openAnother']>): (store: Store) => Promise<Store> {
  return async (store) => {
    await store.close()
    return openAnother(store)
  }
}

async function thrownBy(call: () => unknown): Promise<unknown> {
  try {
    await call()
    return null
  } catch (error) {
    return error
  }
}

type Ways = { create(): Store | Promise<Store>; destroy(store: Store): void | Promise<void> }

/**
 * Lends stores to cases, one after the other, because opening one can take longer than the case. What a case wrote is removed before the next case gets the
 * store; a store on which a case failed is not lent again.
 */
class SharedStores {
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
      // The failure of the case matters more than an error while cleaning up.
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

/** Also works for a store that is an instance of a class, whose methods need their own `this`. */
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
  // Makes the store forget the leases of deleted tenants.
  await Promise.all([...holders].map((holder) => store.renewLeases(holder, 1_000)))
}
