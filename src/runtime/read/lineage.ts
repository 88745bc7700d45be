import { readMembers } from '../../base/errors/read-given.ts'
import { checkWhole } from '../../store/checks.ts'
import type { Parent } from '../../store/conversation-record.ts'
import type { TenantStore } from '../../store/store.ts'

/** How much of a lineage is read. */
export type LineageOptions = {
  /** So many of the nearest. Default: all. */
  readonly limit?: number
}

/** Where a fork was cut from, then where that was, and so on to the first; as far as they still exist. */
export async function lineageOf(
  store: TenantStore,
  id: string,
  options?: LineageOptions,
): Promise<Required<Pick<Parent, 'id' | 'at'>>[]> {
  const { limit = Number.MAX_SAFE_INTEGER } = readMembers('options', options, ['limit'])
  checkWhole('limit', limit, 1)
  const lineage: { id: string; at: number }[] = []
  // Under a name that was deleted and given again, a line could come back to itself.
  const seen = new Set([id])
  for (let parent = await parentOf(store, id); parent && !seen.has(parent.id); ) {
    lineage.push(parent)
    seen.add(parent.id)
    if (lineage.length >= limit) break
    parent = await parentOf(store, parent.id)
  }
  return lineage
}

async function parentOf(store: TenantStore, id: string): Promise<{ id: string; at: number } | null> {
  const parent = (await store.getConversation(id))?.parent
  return parent?.at === undefined ? null : { id: parent.id, at: parent.at }
}
