import { ConversationNotFoundError, UpkeepUnsupportedError } from '../base/errors/store-errors.ts'
import type { ConversationRef } from '../store/records.ts'
import type { Store } from '../store/store.ts'
import type { Upkeep } from '../store/upkeep.ts'

export function upkeepOf(store: Pick<Store, 'upkeep'>): Upkeep {
  if (!store.upkeep) throw new UpkeepUnsupportedError()
  return store.upkeep
}

/** Progress of a long job. `total` is null when it is not known beforehand. */
export type Progress = { readonly done: number; readonly total: number | null; readonly rows: number }

/** Called often; must return fast. */
export type OnProgress = (progress: Progress) => void

/** The schema versions of a store: what it had (null: the store did not exist), and what this version writes. */
export type Migration = { readonly from: number | null; readonly to: number; readonly isCurrent: boolean }

/**
 * Migrates a store's schema to the one this version writes, as the first use would, so that a deploy can do it before its nodes start. With `check` it only
 * looks. Refuses a schema newer than this version with `schema_too_new`. Open the store with `expiry: false`; otherwise opening it migrates it.
 */
export async function migrateStore(
  store: Pick<Store, 'upkeep'>,
  { check = false }: { readonly check?: boolean } = {},
): Promise<Migration> {
  const upkeep = upkeepOf(store)
  const { found, known } = check ? await upkeep.schema() : await upkeep.migrate()
  return { from: found, to: known, isCurrent: found === known }
}

/** Releases a conversation or session from quarantine, so that processes work on it again. False when it is not quarantined. */
export async function unquarantine(store: Pick<Store, 'forTenant'>, { tenant, id }: ConversationRef): Promise<boolean> {
  const handle = store.forTenant(tenant)
  if (await handle.unquarantine(id)) return true
  if (!(await handle.getConversation(id))) throw new ConversationNotFoundError(id)
  return false
}
