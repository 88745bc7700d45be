import type { DueConversation, FairSearch } from '../fair-search.ts'
import { isSuspect } from '../lease.ts'
import type { ConversationRef } from '../records.ts'
import { FreeSlots } from '../slots.ts'
import type { DueWorkQuery } from '../store.ts'
import { byteOrder, isLeased, type MemoryTables } from './memory-tables.ts'
import { heldCounts, passes } from './slots.ts'

type Due = DueConversation & { readonly isSuspect: boolean; readonly passes: boolean }

/** The time, and what is paused. */
type Seen = { readonly now: number; readonly isPaused: (tenant: string, id: string, agent: string) => boolean }

/** What passes comes first: it frees slots. Then the others fairly over tenants, with at most `suspects` whose last leases lapsed. */
export function findDue(
  tables: MemoryTables,
  search: FairSearch,
  { agents, limit, suspects = limit, limits }: DueWorkQuery,
  { now, isPaused }: Seen,
): ConversationRef[] {
  const all = dueRows(tables, agents, now, limits !== undefined).filter(
    (row) => !isPaused(row.tenant, row.id, row.agent),
  )
  const spared = new Set(all.filter((row) => row.isSuspect).slice(suspects))
  const due = all.filter((row) => !spared.has(row))
  const passing = due.filter((row) => row.passes).slice(0, limit)
  const byTenant = Map.groupBy(
    due.filter((row) => !row.passes),
    ({ tenant }) => tenant,
  )
  const tenants = [...byTenant.keys()].sort(byteOrder)
  const slots = limits ? new FreeSlots(limits, heldCounts(tables, now)) : null
  const left = limit - passing.length
  const fair =
    left === 0
      ? []
      : search.find(
          { agents, limit: left, slots },
          {
            tenantsAfter: (last, most) =>
              tenants.filter((tenant) => last === null || byteOrder(tenant, last) > 0).slice(0, most),
            rowsOf: (tenant, free, most) =>
              free.flatMap((agent) =>
                byTenant
                  .get(tenant)!
                  .filter((row) => row.agent === agent)
                  .slice(0, most),
              ),
          },
        )
  return [...passing, ...fair].map(({ tenant, id }) => ({ tenant, id }))
}

/** Those that are due longest first. */
function dueRows(tables: MemoryTables, agents: readonly string[], now: number, isLimited: boolean): Due[] {
  const due: Due[] = []
  for (const [tenant, { conversations }] of tables.tenants()) {
    for (const [id, row] of conversations) {
      const { agent } = row.columns
      if (row.wakeAt === null || row.wakeAt > now || isLeased(row, now)) continue
      if (agent === null || !agents.includes(agent)) continue
      const { wakeAt, lease } = row
      due.push({ tenant, id, agent, wakeAt, isSuspect: isSuspect(lease, now), passes: isLimited && passes(row) })
    }
  }
  return due.sort((left, right) => left.wakeAt - right.wakeAt)
}
