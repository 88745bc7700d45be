import { StoreError } from '../../src/base/errors/store-errors.ts'
import type { Store, TenantStore } from '../../src/store/store.ts'

export type Flaw = {
  readonly method: keyof Store
  readonly times: number
  readonly isWritten?: boolean
  /** Which calls of the method fail. Default: all. */
  readonly only?: (...args: never[]) => boolean
}

/** The same store, with a method that fails some times: before it has done anything, or after, when the outcome is unknown. */
export function flakyStore(
  store: Store,
  { method, times, isWritten = false, only = () => true }: Flaw,
): { store: Store; failures(): number } {
  let failures = 0

  function flaky<T extends Store | TenantStore>(target: T): T {
    return new Proxy(target, {
      get(object, name) {
        const member: unknown = Reflect.get(object, name)
        if (name === 'forTenant') return (tenant: string) => flaky(store.forTenant(tenant))
        if (name !== method || typeof member !== 'function') return member
        return async (...args: unknown[]) => {
          if (failures >= times || !only(...(args as never[]))) return member.apply(object, args)
          const answer: unknown = isWritten ? await member.apply(object, args) : null
          // A claim that found nothing has written nothing.
          if (Array.isArray(answer) && answer.length === 0) return answer
          failures += 1
          throw new StoreError('the connection was lost', { ambiguous: isWritten })
        }
      },
    })
  }

  return { store: flaky(store), failures: () => failures }
}
