import type { DueConversation, FairSearch, FoundTenants } from '../fair-search.ts'
import { lapseWithinMs } from '../lease.ts'
import type { ConversationRef } from '../records.ts'
import { FreeSlots } from '../slots.ts'
import type { DueWorkQuery } from '../store.ts'
import type { Database } from './database.ts'
import { heldCounts, passes } from './slots.ts'
import { hasPauses, isNotPaused, isTenantPaused } from './steering.ts'

const columns = 'tenant, id, agent, wake_at AS wakeAt'
const agenda = 'FROM conversations INDEXED BY conversations_agenda WHERE'
const isFree = 'lease_holder IS NULL AND agent = ?'
const soonest = 'ORDER BY wake_at LIMIT ?'
const heldNoLonger = 'lease_holder IS NOT NULL AND lease_until <= ? AND agent = ? AND wake_at <= ?'
/** Whether a claim would find lapses. */
const isSuspect = `(lapsed IS NOT NULL OR lease_until - claimed_at <= ${lapseWithinMs})`

/** The most tenants that one walk goes over, among them those whose wake-ups are all later and those that are paused. */
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
  // Where nothing is paused, the statements do not ask for it.
  const isPausing = hasPauses(db)
  const notPaused = isPausing ? `AND ${isNotPaused}` : ''
  const agents = isPausing ? runningAgents(db, given) : [...new Set(given)]
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
      const walks = agents.map((agent) => tenantsOf(db, agent, tenant ?? '', { limit: most, now, notPaused }))
      const tenants = [...new Set([...after, ...walks.flatMap((walk) => walk.tenants)])].sort().slice(0, most)
      return { tenants, stoppedAt: walks.map((walk) => walk.stoppedAt).reduce(earlier, null) }
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

/** A step of the walk for each tenant, however many conversations it has, and however many of them are paused with it. */
function tenantsOf(db: Database, agent: string, after: string, { limit, now, notPaused }: Bounds): FoundTenants {
  const next = (than: string) =>
    `SELECT tenant ${agenda} ${isFree} AND tenant > ${than} AND wake_at IS NOT NULL ORDER BY tenant LIMIT 1`
  const hasDue = `EXISTS (SELECT 1 ${agenda} ${isFree} AND conversations.tenant = walk.tenant AND wake_at <= ? ${notPaused})`
  const rows = db.all<{ tenant: string; steps: number; isDue: number }>(
    `WITH RECURSIVE walk (tenant, steps) AS (
       SELECT (${next('?')}), 1
       UNION ALL SELECT (${next('walk.tenant')}), steps + 1 FROM walk WHERE walk.tenant IS NOT NULL AND steps < ${mostSteps}
     ), looked AS (
       SELECT tenant, steps, ${notPaused === '' ? hasDue : `CASE WHEN ${isTenantPaused('walk.tenant')} THEN 0 ELSE ${hasDue} END`} AS isDue
       FROM walk WHERE tenant IS NOT NULL
     )
     SELECT tenant, steps, isDue FROM looked WHERE isDue OR steps = ${mostSteps} LIMIT ?`,
    ...[agent, after, agent, agent, now, limit],
  )
  const last = rows.at(-1)
  return {
    tenants: rows.flatMap(({ tenant, isDue }) => (isDue === 1 ? [tenant] : [])),
    stoppedAt: last?.steps === mostSteps ? last.tenant : null,
  }
}

function earlier(one: string | null, other: string | null): string | null {
  return one === null || (other !== null && other < one) ? other : one
}

/** Without those that are paused in every tenant. */
function runningAgents(db: Database, agents: readonly string[]): string[] {
  const paused = db.all<{ name: string }>(
    "SELECT name FROM pauses WHERE kind = 'agent' AND tenant = '' AND name IN (SELECT value FROM json_each(?))",
    JSON.stringify(agents),
  )
  return [...new Set(agents).difference(new Set(paused.map(({ name }) => name)))]
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
