import type { Store } from '../../store/store.ts'

type What = {
  readonly ids: readonly string[]
  readonly callIds?: readonly string[]
  readonly agents?: readonly string[]
  readonly tenant?: string
}

/** Everything a store shows of these conversations: to see that something left it as it was. */
export async function observe(
  store: Store,
  { ids, callIds = [], agents = ['support'], tenant = 'default' }: What,
): Promise<unknown> {
  const handle = store.forTenant(tenant)
  const conversations = await Promise.all(
    ids.map(async (id) => ({
      record: await handle.getConversation(id),
      events: await handle.streamEvents(id),
      revival: await handle.loadSince(id),
      pending: await handle.pendingToolCalls(id),
      modelCalls: await handle.modelCalls(id),
      snapshot: await handle.getSnapshot(id),
    })),
  )
  const due = await store.dueWork({ agents, limit: 1_000 })
  return {
    conversations,
    calls: await Promise.all(callIds.map((callId) => handle.getToolCall(callId))),
    list: await handle.listConversations(),
    inbox: await handle.pendingInbox(),
    due: due
      .filter((work) => work.tenant === tenant)
      .map((work) => work.id)
      .sort(),
  }
}
