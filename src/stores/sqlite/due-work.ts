import type { ConversationRef } from '../../store/conversation-record.ts'
import type { DueWorkQuery } from '../../store/store.ts'
import type { Database } from './database.ts'

type DueRow = ConversationRef & { readonly wakeAt: number }

const due = 'SELECT tenant, id, wake_at AS wakeAt FROM conversations INDEXED BY conversations_agenda WHERE'
const soonest = 'AND agent = ? AND wake_at <= ? ORDER BY wake_at LIMIT ?'

/** Walks along the index for each agent, so that what waits for unknown agents costs nothing: what nobody holds, and what is held no longer. */
export function dueWork(db: Database, { agents, limit }: DueWorkQuery): ConversationRef[] {
  const now = Date.now()
  const rows = db.snapshot(() =>
    [...new Set(agents)].flatMap((agent) => [
      ...db.all<DueRow>(`${due} lease_holder IS NULL ${soonest}`, agent, now, limit),
      ...db.all<DueRow>(`${due} lease_holder IS NOT NULL AND lease_until <= ? ${soonest}`, now, agent, now, limit),
    ]),
  )
  return rows
    .sort((left, right) => left.wakeAt - right.wakeAt)
    .slice(0, limit)
    .map(({ tenant, id }) => ({ tenant, id }))
}
