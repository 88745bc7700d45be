import type { Store } from '../store/store.ts'
import { upkeepOf } from './upkeep-of.ts'

/** The schema of a store: the one it had (null: there was no store yet), and the one this version writes. */
export type Migration = { readonly from: number | null; readonly to: number; readonly isCurrent: boolean }

/**
 * Brings the schema of a store to what this version writes, as its first use would, so that a deploy can do it before its nodes start. With `check` it only
 * looks. A schema that is newer than this version is refused with `schema_too_new`. Open the store with `expiry: false`, or opening it migrates.
 */
export async function migrateStore(
  store: Pick<Store, 'upkeep'>,
  { check = false }: { readonly check?: boolean } = {},
): Promise<Migration> {
  const upkeep = upkeepOf(store)
  const { found, known } = check ? await upkeep.schema() : await upkeep.migrate()
  return { from: found, to: known, isCurrent: found === known }
}
