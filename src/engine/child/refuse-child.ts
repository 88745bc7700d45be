import { ChildConversationError } from '../../base/errors/runtime-errors.ts'
import { checkId } from '../../store/checks.ts'
import type { TenantStore } from '../../store/store.ts'
import { callOfChild } from './admit-child.ts'

/**
 * Refuses to talk to a child agent past its parent, and to take the id of one that has not been started yet. Reads nothing for an id that no
 * child has.
 */
export async function refuseChild(store: TenantStore, id: string): Promise<void> {
  checkId('conversation id', id)
  const call = await callOfChild(store, id)
  if (call) throw new ChildConversationError(id, call.conversationId)
}
