import type { ConversationRef } from '../../store/conversation-record.ts'
import type { DueWorkQuery } from '../../store/store.ts'
import type { Database } from './database.ts'

type DueRow = ConversationRef & { readonly wakeAt: number }

/** One walk along the index for each agent, so that what waits for unknown agents costs nothing. */
export function dueWork(db: Database, { agents, limit }: DueWorkQuery): ConversationRef[] {
  const now = Date.now()
  const rows = db.snapshot(() =>
    [...new Set(agents)].flatMap((agent) =>
      db.all<DueRow>(
        `SELECT tenant, id, wake_at AS wakeAt FROM conversations
         WHERE agent = ? AND wake_at <= ? AND coalesce(lease_until, 0) <= ? ORDER BY wake_at LIMIT ?`,
        agent,
        now,
        now,
        limit,
      ),
    ),
  )
  return rows
    .sort((left, right) => left.wakeAt - right.wakeAt)
    .slice(0, limit)
    .map(({ tenant, id }) => ({ tenant, id }))
}
