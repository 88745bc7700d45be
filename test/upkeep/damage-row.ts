import type { StoredConversation } from '../../src/store/driver.ts'
import type { Store } from '../../src/store/store.ts'
import type { ConversationRow } from '../../src/store/upkeep.ts'

/** Writes text into columns of a conversation as no verb of a store would. Any store, as long as no process works on it. */
export async function damageRow(
  store: Store,
  id: string,
  damage: Partial<Pick<StoredConversation, 'settings' | 'fsmState' | 'title' | 'parent'>>,
): Promise<void> {
  const { conversation, rows } = await store.upkeep!.snapshot(async (reader) => {
    const rows: ConversationRow[] = []
    for await (const row of reader.rows('default', id)) rows.push(row)
    return { conversation: (await reader.conversation('default', id))!, rows }
  })
  await store.deleteConversation(id)
  await store.upkeep!.restoreConversation('default', { ...conversation, ...damage }, listed(rows))
}

async function* listed(rows: readonly ConversationRow[]): AsyncGenerator<ConversationRow> {
  yield* rows
}
