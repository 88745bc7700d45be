import { type FreeSlots, inTurns } from './slots.ts'

/** A conversation that is due and free. */
export type DueConversation = {
  readonly tenant: string
  readonly id: string
  readonly agent: string
  readonly wakeAt: number
}

/** How a driver finds what is due: both must use an index. */
export type DueRows = {
  /** The next tenants with due conversations after this one, or from the first; at most `limit`. They are in any order that is always the same. */
  readonly tenantsAfter: (tenant: string | null, limit: number) => FoundTenants
  /** Of each agent in `agents`, the conversations of the tenant that are due longest; at most `limit` for each. */
  readonly rowsOf: (tenant: string, agents: readonly string[], limit: number) => readonly DueConversation[]
}

/** `stoppedAt`: the tenant where a bound ended the walk, with more behind it; null: it came to the end, or found as many as were asked for. */
export type FoundTenants = { readonly tenants: readonly string[]; readonly stoppedAt: string | null }

const noTenants: FoundTenants = { tenants: [], stoppedAt: null }

type Request = {
  readonly agents: readonly string[]
  readonly limit: number
  /** Null: without limits. */
  readonly slots: FreeSlots | null
}

/** The most tenants that one search looks at. The next one begins where it stopped. */
const mostTenants = 1_000

/**
 * Finds due work fairly over tenants, for drivers that decide in code: one conversation of each tenant, then the second of each, and so on. Where there are more
 * tenants than places, the next search begins with the tenant after the last one that was served, and where a walk was ended by its bound, there. The cost is
 * bounded by `limit` and by the number of tenants with due work, not by how much work they have.
 */
export class FairSearch {
  #last: string | null = null

  /**
   * Runs `look` with a search that begins where this one would. If `look` finds something, this search still begins there next time; else where `look`
   * stopped.
   */
  probe(look: (search: FairSearch) => boolean): boolean {
    const search = new FairSearch()
    search.#last = this.#last
    const hasFound = look(search)
    if (!hasFound) this.#last = search.#last
    return hasFound
  }

  find({ agents, limit, slots }: Request, { tenantsAfter, rowsOf }: DueRows): DueConversation[] {
    const free = slots ? agents.filter((agent) => slots.ofAgent(agent) > 0) : agents
    const agentsIn = (tenant: string) => (slots ? free.filter((agent) => slots.isFree(tenant, agent)) : free)
    if (free.length === 0) return []
    const tenants: string[] = []
    const begin = this.#last
    const later = tenantsAfter(begin, mostTenants)
    // Round to the first tenant, up to where the search began.
    const isRound = begin !== null && later.tenants.length < mostTenants
    const first = isRound ? tenantsAfter(null, mostTenants - later.tenants.length) : noTenants
    for (const tenant of new Set([...later.tenants, ...first.tenants])) {
      if (tenants.length >= limit) break
      this.#last = tenant
      if (agentsIn(tenant).length > 0) tenants.push(tenant)
    }
    // There was place for what may be behind it.
    if (tenants.length < limit) this.#last = later.stoppedAt ?? first.stoppedAt ?? this.#last
    if (tenants.length === 0) return []
    const rows = rowsInTurns(tenants, limit, (tenant, most) => rowsOf(tenant, agentsIn(tenant), most))
    return chosen(rows, limit, slots)
  }
}

/** Reads as much of each tenant as its share, and twice as much again while there is room and the tenant has more. */
function rowsInTurns(
  tenants: readonly string[],
  limit: number,
  read: (tenant: string, most: number) => readonly DueConversation[],
): DueConversation[] {
  const found = new Map<string, readonly DueConversation[]>()
  let hungry = tenants
  for (let share = Math.ceil(limit / tenants.length); hungry.length > 0; share *= 2) {
    for (const tenant of hungry) found.set(tenant, read(tenant, share))
    hungry = hungry.filter((tenant) => found.get(tenant)!.length >= share)
    const total = [...found.values()].reduce((sum, rows) => sum + rows.length, 0)
    if (total >= limit || share >= limit) break
  }
  return inTurns([...found.values()].flat())
}

/** As many as there are slots for. */
function chosen(rows: readonly DueConversation[], limit: number, slots: FreeSlots | null): DueConversation[] {
  const taken: DueConversation[] = []
  for (const row of rows) {
    if (taken.length >= limit) break
    if (slots && !slots.isFree(row.tenant, row.agent)) continue
    slots?.take(row.tenant, row.agent)
    taken.push(row)
  }
  return taken
}
