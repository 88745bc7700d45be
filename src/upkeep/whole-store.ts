import { ConversationNotFoundError, UpkeepUnsupportedError } from '../base/errors/store-errors.ts'
import type { ConversationRef } from '../store/records.ts'
import type { Store } from '../store/store.ts'
import type { Upkeep } from '../store/upkeep.ts'

export function upkeepOf(store: Pick<Store, 'upkeep'>): Upkeep {
  if (!store.upkeep) throw new UpkeepUnsupportedError()
  return store.upkeep
}

/** How far long work is. `total` is null where it is not known beforehand. */
export type Progress = { readonly done: number; readonly total: number | null; readonly rows: number }

/** Called often; must return fast. */
export type OnProgress = (progress: Progress) => void

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

/** Has processes work again on a conversation or session that is quarantined. False when it is not. */
export async function unquarantine(store: Pick<Store, 'forTenant'>, { tenant, id }: ConversationRef): Promise<boolean> {
  const handle = store.forTenant(tenant)
  if (await handle.unquarantine(id)) return true
  if (!(await handle.getConversation(id))) throw new ConversationNotFoundError(id)
  return false
}
