import type { ConversationState } from '../log/state.ts'
import type { TenantStore } from '../store/store.ts'

/** A conversation begins with a message, or with what it was restored from and a message. */
const firstEvents = 20

/** The recorded id of the person who opened a conversation. Reads the log only where a summary replaces its first turn. */
export async function openerOf(
  store: Pick<TenantStore, 'streamEvents'>,
  id: string,
  { turns, hasOlder, lastSeq }: ConversationState,
): Promise<string | null> {
  const first = hasOlder ? undefined : turns[0]?.items.find((item) => item.type === 'user')
  if (first) return first.who
  if (lastSeq === 0) return null
  const events = await store.streamEvents(id, { limit: firstEvents, keep: 'oldest' })
  return events.find((event) => event.type === 'user_msg')?.content.who ?? null
}
