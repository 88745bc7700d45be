import { silentLogger } from '../../../src/base/logger.ts'
import type { Store } from '../../../src/store/store.ts'

/** Which store a fault program works on; plain JSON, so that children can be told. */
export type Target =
  | { readonly store: 'sqlite'; readonly path: string }
  | { readonly store: 'postgres'; readonly url: string }

export type StoreName = Target['store']

/** Only the adapter that is used is loaded: children start often. */
export async function openStore(target: Target): Promise<Store> {
  if (target.store === 'sqlite') {
    const { sqliteStore } = await import('../../../src/store/sqlite/index.ts')
    return sqliteStore({ path: target.path, logger: silentLogger })
  }
  const { postgresStore } = await import('../../../src/store/postgres/index.ts')
  return postgresStore({ connectionString: target.url, logger: silentLogger })
}
