import type { TenantStore } from '../store/store.ts'

/** A conversation begins with a message, or with what it was restored from and a message. */
const firstEvents = 20

/** Whose conversation it is: as its row says, else who opened the log. A fork and a restored conversation may belong to another person than the one who opened it. */
export async function ownerOf(
  store: Pick<TenantStore, 'standing' | 'streamEvents'>,
  id: string,
): Promise<string | null> {
  const { owner = null, lastSeq = 0 } = (await store.standing(id)) ?? {}
  return owner ?? (lastSeq === 0 ? null : openerOf(store, id))
}

/** The recorded id of the person who opened a conversation. */
export async function openerOf(store: Pick<TenantStore, 'streamEvents'>, id: string): Promise<string | null> {
  const events = await store.streamEvents(id, { limit: firstEvents, keep: 'oldest' })
  return events.find((event) => event.type === 'user_msg')?.content.who ?? null
}
