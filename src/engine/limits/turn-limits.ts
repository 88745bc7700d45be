import { type Clock, monotonic } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import { Lru } from '../../base/lru.ts'
import type { Agent } from '../../define/agent.ts'
import type { DueLimits, SlotLimit, SlotLimits } from '../../store/slots.ts'

/** What one account at a provider allows, over all nodes. */
export type AccountLimits = {
  /** Turns at once. Default: no limit. */
  readonly turns?: number
  /** Default: no limit. */
  readonly requestsPerMinute?: number
  /** Tokens of prompts and answers together. Default: no limit. */
  readonly tokensPerMinute?: number
}

/** The limits that a node keeps. They count what all nodes do, so all nodes should have the same. */
export type LimitSettings = {
  /** Turns at once of one tenant, or a function that returns the limit of each tenant. Default: no limit. */
  readonly turnsPerTenant?: number | ((tenant: string) => number)
  /** By the names that agents have as `account`. */
  readonly accounts?: { readonly [name: string]: AccountLimits }
}

type AgentLimits = Omit<SlotLimits, 'tenant'>

type Parts = { readonly clock: Clock; readonly logger: Logger }

/** How long a limit that was reached counts as reached. */
const othersFirstMs = 1_000
const places = ['tenant', 'agent', 'account'] as const

/** The limits of claims on this node. */
export class TurnLimits {
  readonly #tenant: ((tenant: string) => number) | null
  readonly #agents: ReadonlyMap<string, AgentLimits>
  readonly #clock: Clock
  readonly #reached = new Lru<number>({ entries: 1_000 })

  /** `agents`: all that the node has, also those under no limit of their own. */
  constructor(settings: LimitSettings, agents: Iterable<Agent>, { clock, logger }: Parts) {
    this.#clock = clock
    const { turnsPerTenant } = settings
    this.#tenant = turnsPerTenant === undefined ? null : checked(turnsPerTenant, logger)
    this.#agents = new Map([...agents].map((agent) => [agent.name, limitsOf(agent, settings)]))
  }

  /** The limits of a claim on one conversation. A name that no agent has belongs to a session, which has no limits. */
  forClaim(tenant: string, name: string): SlotLimits {
    const limits = this.#agents.get(name)
    if (!limits) return {}
    return this.#tenant ? { ...limits, tenant: this.#tenant(tenant) } : limits
  }

  /** Whether turns under this name count. */
  isLimited(name: string): boolean {
    return this.#agents.has(name)
  }

  /** A commit was refused the lease. For a while no commit asks where that limit counts: the search gives free slots to what is due longest. */
  wasReached(limit: SlotLimit, tenant: string, name: string): void {
    this.#reached.set(this.#placeOf(limit, tenant, name), monotonic(this.#clock) + othersFirstMs)
  }

  areOthersFirst(tenant: string, name: string): boolean {
    if (!this.isLimited(name)) return false
    const now = monotonic(this.#clock)
    return places.some((limit) => (this.#reached.get(this.#placeOf(limit, tenant, name)) ?? 0) > now)
  }

  #placeOf(limit: SlotLimit, tenant: string, name: string): string {
    const value = { tenant, agent: name, account: this.#agents.get(name)?.account?.name ?? '' }[limit]
    return `${limit} ${value}`
  }

  forSearch(): DueLimits {
    return { agents: this.#agents, ...(this.#tenant ? { tenant: this.#tenant } : {}) }
  }
}

/** Null where neither the node nor one of its agents has a limit: then nothing is counted. */
export function turnLimits(settings: LimitSettings, agents: readonly Agent[], parts: Parts): TurnLimits | null {
  const isLimited = agents.some(({ limits, account }) => limits.turns !== null || account !== null)
  return isLimited || settings.turnsPerTenant !== undefined ? new TurnLimits(settings, agents, parts) : null
}

function limitsOf({ limits, account }: Agent, { accounts = {} }: LimitSettings): AgentLimits {
  const turns = account !== null && Object.hasOwn(accounts, account) ? accounts[account]!.turns : undefined
  return {
    ...(limits.turns === null ? {} : { agent: limits.turns }),
    ...(account === null ? {} : { account: { name: account, ...(turns === undefined ? {} : { turns }) } }),
  }
}

/** If the function throws, or returns something that is not a limit, one turn is allowed, so that the tenant is neither unlimited nor stuck forever. */
function checked(given: NonNullable<LimitSettings['turnsPerTenant']>, logger: Logger): (tenant: string) => number {
  if (typeof given === 'number') return () => given
  return (tenant) => {
    try {
      const turns = given(tenant)
      if (turns === Number.POSITIVE_INFINITY) return Number.MAX_SAFE_INTEGER
      if (Number.isSafeInteger(turns) && turns >= 1) return turns
      logger.error("'turnsPerTenant' must return a whole number of at least 1; the tenant gets 1", { tenant, turns })
    } catch (error) {
      logger.error("'turnsPerTenant' threw; the tenant gets 1", { tenant, error })
    }
    return 1
  }
}
