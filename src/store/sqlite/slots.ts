import { quarantineHolder } from '../lease.ts'
import { type HeldCount, type HeldSlots, reachedLimit, type SlotLimit, type SlotLimits } from '../slots.ts'
import type { Database } from './database.ts'

/** For a row of `conversations`: sessions, children and turns that are being cancelled are under no limit. */
export const passes = "(terminating = 1 OR child_of IS NOT NULL OR kind = 'flow')"

/** Each row of the index is held now or was a moment ago, so there are no more of them than places on all nodes. */
const held = `FROM conversations INDEXED BY conversations_agenda
  WHERE lease_holder IS NOT NULL AND lease_holder <> '${quarantineHolder}' AND lease_until > ? AND kind = 'conversation'`

/** `cid`: null for a conversation that the commit creates. */
export type ClaimedRow = { readonly cid: number | null; readonly tenant: string; readonly agent: string | null }

/** The limit that keeps a conversation that does not pass from being claimed. It is counted without its own lease. */
export function limitReached(db: Database, row: ClaimedRow, limits: SlotLimits, now: number): SlotLimit | null {
  return reachedLimit(limits, heldBeside(db, { ...row, account: limits.account?.name ?? null }, now))
}

type Place = ClaimedRow & { readonly account: string | null }

export function heldBeside(db: Database, { cid, tenant, agent, account }: Place, now: number): HeldSlots {
  return db.get<HeldSlots>(
    `SELECT count(*) FILTER (WHERE tenant = ?) AS tenant, count(*) FILTER (WHERE agent = ?) AS agent,
     count(*) FILTER (WHERE account = ?) AS account ${held} AND cid IS NOT ?`,
    ...[tenant, agent, account, now, cid],
  )!
}

export function heldCounts(db: Database, now: number): HeldCount[] {
  const sql = `SELECT tenant, coalesce(agent, '') AS agent, account, count(*) AS count ${held} GROUP BY tenant, agent, account`
  return db.all<HeldCount>(sql, now)
}
