import type { WorkingSets } from '../live/working-sets.ts'
import { childCalls, childIdOf } from '../log/child-call.ts'
import type { ConversationState } from '../log/state.ts'
import type { TenantStore } from '../store/store.ts'

type Parts = { readonly store: TenantStore; readonly workingSets: WorkingSets; readonly tenant: string }

/** The child agents a conversation waits for, and theirs, by their ids. */
export async function loadChildren(
  { store, workingSets, tenant }: Parts,
  state: ConversationState,
): Promise<Map<string, ConversationState>> {
  const children = new Map<string, ConversationState>()
  const load = async (from: ConversationState): Promise<void> => {
    for (const { callId } of childCalls(from)) {
      const childId = childIdOf(callId)
      const { state: child } = await workingSets.load(store, tenant, childId)
      children.set(childId, child)
      await load(child)
    }
  }
  await load(state)
  return children
}
