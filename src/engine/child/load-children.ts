import { PerdureError } from '../../base/errors/perdure-error.ts'
import { childCalls, childIdOf } from '../../log/child-call.ts'
import type { ConversationState } from '../../log/state.ts'
import type { TenantStore } from '../../store/store.ts'
import type { WorkingSets } from '../../store/working-sets.ts'

type Parts = { readonly store: TenantStore; readonly workingSets: WorkingSets; readonly tenant: string }

/** The child agents a conversation waits for, and theirs, by their ids. One whose log cannot be read here is left out, and counts as running. */
export async function loadChildren(parts: Parts, state: ConversationState): Promise<Map<string, ConversationState>> {
  const children = new Map<string, ConversationState>()
  const load = async (from: ConversationState): Promise<void> => {
    for (const { callId } of childCalls(from)) {
      const childId = childIdOf(callId)
      const child = await readable(parts, childId)
      if (!child) continue
      children.set(childId, child)
      await load(child)
    }
  }
  await load(state)
  return children
}

/** The ids of the child agents that a conversation waits for, and theirs; as far as they can be found out here. */
export async function childIdsBelow(parts: Parts, id: string): Promise<string[]> {
  const state = await readable(parts, id)
  return state ? [...(await loadChildren(parts, state)).keys()] : []
}

/** Null for a log that has what this version cannot fold. */
async function readable({ store, workingSets, tenant }: Parts, id: string): Promise<ConversationState | null> {
  try {
    return (await workingSets.load(store, tenant, id)).state
  } catch (error) {
    if (PerdureError.isInstance(error) && error.code.startsWith('event_')) return null
    throw error
  }
}
