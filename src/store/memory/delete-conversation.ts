import { freeId } from './freed-ids.ts'
import type { TenantTables } from './memory-tables.ts'

/** With its child agents; returns how many conversations there were. */
export function deleteConversation(tables: TenantTables, id: string, now: number): number {
  tables.snapshots.delete(id)
  const row = tables.conversations.get(id)
  if (!row) return 0
  tables.conversations.delete(id)
  freeId(tables, row, now)
  for (const callId of row.callIds) tables.calls.delete(callId)
  for (const [hash, blob] of tables.blobs) {
    if (blob.references.delete(id) && blob.references.size === 0 && blob.pins === 0) tables.blobs.delete(hash)
  }
  const children = [...tables.conversations.values()].filter((candidate) => candidate.childOf === id)
  return children.reduce((count, child) => count + deleteConversation(tables, child.columns.id, now), 1)
}
