import type { RestoredConversation, RestoreOutcome, ConversationRow as Row } from '../upkeep.ts'
import { type ConversationRow, newConversationRow, type TenantTables } from './memory-tables.ts'

/** Takes all rows first, so that it writes in one go. */
export async function restoreConversation(
  tables: TenantTables,
  conversation: RestoredConversation,
  rows: AsyncIterable<Row>,
): Promise<RestoreOutcome> {
  if (tables.conversations.has(conversation.id)) return { type: 'exists' }
  const taken: Row[] = []
  for await (const row of rows) taken.push(row)
  return write(tables, conversation, taken)
}

function write(tables: TenantTables, conversation: RestoredConversation, rows: readonly Row[]): RestoreOutcome {
  const { childOf, wakeAt, isDormant } = conversation
  const columns = columnsOf(conversation)
  if (tables.conversations.has(columns.id)) return { type: 'exists' }
  for (const { type, row } of rows) {
    if (type === 'call' && tables.calls.has(row.id)) return { type: 'call_exists', callId: row.id }
    if (type === 'blob_ref' && !tables.blobs.has(row.hash)) return { type: 'blob_missing', hash: row.hash }
  }
  const copy = { ...newConversationRow(columns.id, 0), columns, childOf, wakeAt, isDormant }
  for (const { type, row } of rows) {
    switch (type) {
      case 'event':
        copy.events.push(row)
        break
      case 'call':
        copy.callIds.add(row.id)
        tables.calls.set(row.id, { ...row, conversationId: columns.id })
        break
      case 'summary':
        copy.summaries.set(row.toSeq, row)
        break
      case 'key':
        copy.keys.set(row.key, { seq: row.seq, digest: row.digest, epoch: null })
        break
      case 'model_call':
        copy.modelCalls.push(row)
        break
      case 'blob_ref':
        tables.blobs.get(row.hash)!.references.set(columns.id, row.firstSeq)
        break
    }
  }
  tables.conversations.set(columns.id, copy)
  return { type: 'ok', seq: copy.events.length }
}

/** Whoever restores may give more than is asked for. */
function columnsOf(conversation: RestoredConversation): ConversationRow['columns'] {
  const { id, kind, agent, status, settings, fsmState, title, parent, createdAt, updatedAt } = conversation
  return { id, kind, agent, status, settings, fsmState, title, parent, createdAt, updatedAt }
}
