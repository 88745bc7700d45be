import { ConversationNotFoundError } from '../base/errors/store-errors.ts'
import type { ConversationRef } from '../store/conversation-record.ts'
import type { Store } from '../store/store.ts'

/** Has processes work again on a conversation or session that is quarantined. False when it is not. */
export async function unquarantine(store: Pick<Store, 'forTenant'>, { tenant, id }: ConversationRef): Promise<boolean> {
  const handle = store.forTenant(tenant)
  if (await handle.unquarantine(id)) return true
  if (!(await handle.getConversation(id))) throw new ConversationNotFoundError(id)
  return false
}
