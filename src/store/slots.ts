/**
 * How many conversations may be held at once. A slot is a live lease, so slots are counted and never stored. Sessions of flows and quarantined conversations hold
 * none. A claim passes where the turn is being cancelled, and on the conversation of a child agent: what waits for them may hold a slot itself.
 */
export type SlotLimits = {
  /** Of all conversations of the tenant. */
  readonly tenant?: number
  /** Of all conversations of the agent, in all tenants. */
  readonly agent?: number
  /** Of all conversations that were claimed under this account. The lease records the account, also without `turns`. */
  readonly account?: AccountSlots
}

/** An account at a provider, and how many turns may use it at once. */
export type AccountSlots = { readonly name: string; readonly turns?: number }

/** Which limit refused a claim. */
export type SlotLimit = 'tenant' | 'agent' | 'account'

/** The limits for a search over tenants and agents. Agents that are not listed are under no limit. */
export type DueLimits = {
  /** Of each tenant. */
  readonly tenant?: number | ((tenant: string) => number)
  readonly agents: ReadonlyMap<string, Omit<SlotLimits, 'tenant'>>
}

/** What the limits of a search say of one claim. */
export function slotLimitsOf({ tenant: limit, agents }: DueLimits, tenant: string, agent: string): SlotLimits {
  const limits = agents.get(agent)
  if (!limits) return {}
  return limit === undefined ? limits : { ...limits, tenant: typeof limit === 'function' ? limit(tenant) : limit }
}

/** Live leases of conversations. */
export type HeldSlots = { readonly tenant: number; readonly agent: number; readonly account: number }

/** The limit that is reached; null while a claim may be made. */
export function reachedLimit({ tenant, agent, account }: SlotLimits, held: HeldSlots): SlotLimit | null {
  if (tenant !== undefined && held.tenant >= tenant) return 'tenant'
  if (agent !== undefined && held.agent >= agent) return 'agent'
  return account?.turns !== undefined && held.account >= account.turns ? 'account' : null
}

/** Whether anything is limited, so that slots must be counted. */
export function areLimited({ tenant, agent, account }: SlotLimits): boolean {
  return tenant !== undefined || agent !== undefined || account?.turns !== undefined
}

/** What the events of a change say of passing: true once a turn is asked to cancel, false once one has ended, null where they say nothing. */
export function passesAfter(events: readonly { readonly type: string }[]): boolean | null {
  const last = events.findLast(({ type }) => type === 'cancel_requested' || type === 'turn_ended')
  return last ? last.type === 'cancel_requested' : null
}

/** Live leases by tenant, agent and account, for a search. */
export type HeldCount = {
  readonly tenant: string
  readonly agent: string
  readonly account: string | null
  readonly count: number
}

/** The free slots of each limit during one search. `take` must be called for each conversation that is chosen. */
export class FreeSlots {
  readonly #limits: DueLimits
  readonly #tenants = new Map<string, number>()
  readonly #agents = new Map<string, number>()
  readonly #accounts = new Map<string, number>()

  constructor(limits: DueLimits, held: readonly HeldCount[]) {
    this.#limits = limits
    for (const { tenant, agent, account, count } of held) {
      add(this.#tenants, tenant, count)
      add(this.#agents, agent, count)
      if (account !== null) add(this.#accounts, account, count)
    }
  }

  /** How many more the agent may take, over all tenants. */
  ofAgent(agent: string): number {
    const limits = this.#limits.agents.get(agent)
    if (!limits) return Number.POSITIVE_INFINITY
    const { account } = limits
    const ofAgent = (limits.agent ?? Number.POSITIVE_INFINITY) - (this.#agents.get(agent) ?? 0)
    if (account?.turns === undefined) return ofAgent
    return Math.min(ofAgent, account.turns - (this.#accounts.get(account.name) ?? 0))
  }

  /** How many more the agents that are under limits may take in the tenant. */
  ofTenant(tenant: string): number {
    const { tenant: limit } = this.#limits
    if (limit === undefined) return Number.POSITIVE_INFINITY
    return (typeof limit === 'function' ? limit(tenant) : limit) - (this.#tenants.get(tenant) ?? 0)
  }

  isFree(tenant: string, agent: string): boolean {
    return !this.#limits.agents.has(agent) || (this.ofAgent(agent) > 0 && this.ofTenant(tenant) > 0)
  }

  take(tenant: string, agent: string): void {
    const limits = this.#limits.agents.get(agent)
    if (!limits) return
    add(this.#tenants, tenant, 1)
    add(this.#agents, agent, 1)
    if (limits.account) add(this.#accounts, limits.account.name, 1)
  }
}

function add(counts: Map<string, number>, name: string, count: number): void {
  counts.set(name, (counts.get(name) ?? 0) + count)
}

/** One due conversation, for `inTurns`. */
type DueRow = { readonly tenant: string; readonly wakeAt: number }

/** The first of each tenant, then the second of each, and so on; in each round those that are due longest first. */
export function inTurns<Row extends DueRow>(rows: readonly Row[]): Row[] {
  const counts = new Map<string, number>()
  const placed = [...rows]
    .sort((left, right) => left.wakeAt - right.wakeAt)
    .map((row) => {
      const round = counts.get(row.tenant) ?? 0
      counts.set(row.tenant, round + 1)
      return { row, round }
    })
  return placed.sort((left, right) => left.round - right.round).map(({ row }) => row)
}
