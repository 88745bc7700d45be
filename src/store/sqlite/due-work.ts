import { lapseWithinMs } from '../claim.ts'
import type { ConversationRef } from '../conversation-record.ts'
import type { DueWorkQuery } from '../store.ts'
import type { Database } from './database.ts'

type DueRow = ConversationRef & { readonly wakeAt: number }

const due = 'SELECT tenant, id, wake_at AS wakeAt FROM conversations INDEXED BY conversations_agenda WHERE'
const soonest = 'AND agent = ? AND wake_at <= ? ORDER BY wake_at LIMIT ?'
const heldNoLonger = 'lease_holder IS NOT NULL AND lease_until <= ?'
/** A claim would find lapses. */
const isSuspect = `(lapsed IS NOT NULL OR lease_until - claimed_at <= ${lapseWithinMs})`

/** Walks along the index for each agent, so that what waits for unknown agents costs nothing: what nobody holds, and what is held no longer. */
export function dueWork(db: Database, { agents, limit, suspects = limit }: DueWorkQuery): ConversationRef[] {
  const now = Date.now()
  const all = [...new Set(agents)]
  const sorted = (rows: DueRow[]): DueRow[] => rows.sort((left, right) => left.wakeAt - right.wakeAt)
  const rows = db.snapshot(() => {
    const free = all.flatMap((agent) => [
      ...db.all<DueRow>(`${due} lease_holder IS NULL ${soonest}`, agent, now, limit),
      ...db.all<DueRow>(`${due} ${heldNoLonger} AND ${isSuspect} IS NOT TRUE ${soonest}`, now, agent, now, limit),
    ])
    if (suspects === 0) return free
    const suspected = all.flatMap((agent) =>
      db.all<DueRow>(`${due} ${heldNoLonger} AND ${isSuspect} IS TRUE ${soonest}`, now, agent, now, suspects),
    )
    return [...free, ...sorted(suspected).slice(0, suspects)]
  })
  return sorted(rows)
    .slice(0, limit)
    .map(({ tenant, id }) => ({ tenant, id }))
}
