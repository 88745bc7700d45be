import { silentLogger } from '../../logger/logger.ts'
import type { Store } from '../../store/store.ts'
import type { LoadedConfig } from '../load-config.ts'
import { openStore } from '../target/open-store.ts'
import { type StoreArgs, storeArgs } from '../target/target-args.ts'

/** The options of commands on a whole store. */
export const wholeStoreArgs = {
  ...storeArgs,
  tenant: { type: 'string', description: 'Only this tenant; default: all' },
} as const

/** Opens the store only to look after it: deadlines are left to whoever works on it. */
export async function withWholeStore<T>(
  args: StoreArgs,
  work: (store: Store, place: string, loaded: LoadedConfig | null) => Promise<T>,
  { create = false }: { readonly create?: boolean } = {},
): Promise<T> {
  const { store, place, loaded } = await openStore(args, { logger: silentLogger, create, expiry: false })
  try {
    return await work(store, place, loaded)
  } finally {
    await store.close()
  }
}

export function tenantOf({ tenant }: StoreArgs): { readonly tenant?: string } {
  return tenant === undefined ? {} : { tenant }
}
