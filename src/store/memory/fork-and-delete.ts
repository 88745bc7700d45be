import type { ForkOutcome, ForkRequest } from '../driver.ts'
import { planFork } from '../plan-fork.ts'
import { type ConversationRow, freeId, newConversationRow, quarantineOf, type TenantTables } from './memory-tables.ts'

export function forkConversation(
  tables: TenantTables,
  id: string,
  newId: string,
  { at, agent }: ForkRequest,
  now: number,
  newCallId: () => string,
): ForkOutcome {
  const source = tables.conversations.get(id)
  if (!source) return 'missing'
  if (tables.conversations.has(newId)) return 'exists'
  const lastSeq = source.events.length
  const end = at ?? lastSeq
  if (end > lastSeq) return { pastEnd: lastSeq }
  const summaries = [...source.summaries.values()].filter((summary) => summary.toSeq <= end)
  const summary = summaries.reduce<(typeof summaries)[number] | null>(
    (latest, candidate) => (latest && latest.toSeq > candidate.toSeq ? latest : candidate),
    null,
  )
  const plan = planFork(
    {
      conversation: { ...source.columns, lastSeq, ...quarantineOf(source) },
      summary,
      events: source.events.slice(summary?.toSeq ?? 0, end),
      pending: [...source.callIds]
        .map((callId) => tables.calls.get(callId)!)
        .filter((call) => call.status === 'pending'),
      at: end,
      agent,
    },
    newId,
    newCallId,
  )
  const copy: ConversationRow = newConversationRow(newId, now)
  copy.columns = { ...copy.columns, ...plan.conversation }
  copy.isDormant = true
  copy.events.push(...source.events.slice(0, end))
  for (const { seq, content } of plan.replaced) copy.events[seq - 1] = { ...copy.events[seq - 1]!, content }
  for (const event of plan.appended) copy.events.push({ ...event, seq: copy.events.length + 1, at: now })
  for (const kept of summaries) copy.summaries.set(kept.toSeq, kept)
  for (const call of plan.calls) {
    copy.callIds.add(call.id)
    tables.calls.set(call.id, call)
  }
  for (const { references } of tables.blobs.values()) {
    const firstSeq = references.get(id)
    if (firstSeq !== undefined && firstSeq <= end) references.set(newId, firstSeq)
  }
  tables.conversations.set(newId, copy)
  return 'ok'
}

/** Deletes a conversation with its child agents; returns how many conversations were removed. */
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
