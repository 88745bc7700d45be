import type { DueConversation, FairSearch } from '../fair-search.ts'
import { lapseWithinMs } from '../lease.ts'
import type { ConversationRef } from '../records.ts'
import { FreeSlots } from '../slots.ts'
import type { DueWorkQuery } from '../store.ts'
import type { Database } from './database.ts'
import { heldCounts, passes } from './slots.ts'
import { hasPauses, isNotPaused } from './steering.ts'

const columns = 'tenant, id, agent, wake_at AS wakeAt'
const agenda = 'FROM conversations INDEXED BY conversations_agenda WHERE'
const isFree = 'lease_holder IS NULL AND agent = ?'
const soonest = 'ORDER BY wake_at LIMIT ?'
const heldNoLonger = 'lease_holder IS NOT NULL AND lease_until <= ? AND agent = ? AND wake_at <= ?'
/** Whether a claim would find lapses. */
const isSuspect = `(lapsed IS NOT NULL OR lease_until - claimed_at <= ${lapseWithinMs})`

/** The most tenants that are stepped over, one after the other, because all their wake-ups are later. */
const mostSteps = 1_000

/**
 * Walks the index for each agent and tenant, so that neither work for unknown agents nor much work of one tenant costs anything. What passes limits comes first: it
 * frees slots. Those whose lease has lapsed are few, and read whole. Must run inside a transaction.
 */
export function findDue(
  db: Database,
  search: FairSearch,
  { agents: given, limit, suspects = limit, limits }: DueWorkQuery,
): ConversationRef[] {
  const now = Date.now()
  const agents = [...new Set(given)]
  // Where nothing is paused, the statements do not ask for it.
  const notPaused = hasPauses(db) ? `AND ${isNotPaused}` : ''
  const lapsed = lapsedRows(db, agents, { limit, suspects, now, notPaused })
  const passing = limits ? passingRows(db, agents, { limit, now, notPaused }) : []
  const known = new Set(passing.map(keyOf))
  const others = lapsed.filter((row) => !known.has(keyOf(row)))
  const slots = limits ? new FreeSlots(limits, heldCounts(db, now)) : null
  const left = limit - passing.length
  const unlessPassing = `${notPaused} ${limits ? `AND NOT ${passes}` : ''}`
  const rowsOfAgent = `SELECT ${columns} ${agenda} ${isFree} AND tenant = ? AND wake_at <= ? ${unlessPassing} ${soonest}`
  const rows = {
    tenantsAfter: (tenant: string | null, most: number) => {
      const after = others.map((row) => row.tenant).filter((name) => tenant === null || name > tenant)
      const found = agents.flatMap((agent) => tenantsOf(db, agent, tenant ?? '', { limit: most, now, notPaused }))
      return [...new Set([...after, ...found])].sort().slice(0, most)
    },
    rowsOf: (tenant: string, free: readonly string[], most: number) => [
      ...others.filter((row) => row.tenant === tenant && free.includes(row.agent)).slice(0, most),
      ...free.flatMap((agent) => db.all<DueConversation>(rowsOfAgent, agent, tenant, now, most)),
    ],
  }
  const fair = left > 0 ? search.find({ agents, limit: left, slots }, rows) : []
  return [...passing, ...fair].map(({ tenant, id }) => ({ tenant, id }))
}

type Bounds = { readonly limit: number; readonly now: number; readonly notPaused: string }

/** A step of the walk for each tenant, however many conversations it has. */
function tenantsOf(db: Database, agent: string, after: string, { limit, now, notPaused }: Bounds): string[] {
  const next = (than: string) =>
    `SELECT tenant ${agenda} ${isFree} AND tenant > ${than} AND wake_at IS NOT NULL ORDER BY tenant LIMIT 1`
  return db
    .all<{ tenant: string }>(
      `WITH RECURSIVE walk (tenant, steps) AS (
         SELECT (${next('?')}), 1
         UNION ALL SELECT (${next('walk.tenant')}), steps + 1 FROM walk WHERE walk.tenant IS NOT NULL AND steps < ${mostSteps}
       )
       SELECT tenant FROM walk WHERE tenant IS NOT NULL
         AND EXISTS (SELECT 1 ${agenda} ${isFree} AND conversations.tenant = walk.tenant AND wake_at <= ? ${notPaused}) LIMIT ?`,
      ...[agent, after, agent, agent, now, limit],
    )
    .map(({ tenant }) => tenant)
}

function lapsedRows(
  db: Database,
  agents: readonly string[],
  { limit, suspects, now, notPaused }: Bounds & { readonly suspects: number },
): DueConversation[] {
  const rows = (condition: string, most: number) =>
    soonestFirst(
      agents.flatMap((agent) =>
        db.all<DueConversation>(
          `SELECT ${columns} ${agenda} ${heldNoLonger} ${notPaused} AND ${condition} ${soonest}`,
          now,
          agent,
          now,
          most,
        ),
      ),
    )
  const suspected = suspects === 0 ? [] : rows(`${isSuspect} IS TRUE`, suspects).slice(0, suspects)
  return soonestFirst([...rows(`${isSuspect} IS NOT TRUE`, limit), ...suspected])
}

function passingRows(db: Database, agents: readonly string[], { limit, now, notPaused }: Bounds): DueConversation[] {
  return db.all<DueConversation>(
    `SELECT ${columns} FROM conversations INDEXED BY conversations_passing
     WHERE wake_at <= ? AND ${passes} AND lease_holder IS NULL AND agent IN (SELECT value FROM json_each(?)) ${notPaused} ${soonest}`,
    now,
    JSON.stringify(agents),
    limit,
  )
}

function soonestFirst(rows: DueConversation[]): DueConversation[] {
  return rows.sort((left, right) => left.wakeAt - right.wakeAt)
}

/** Ids have no control characters. */
function keyOf({ tenant, id }: ConversationRef): string {
  return `${tenant}\n${id}`
}
