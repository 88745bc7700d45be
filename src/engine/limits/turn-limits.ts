import type { Logger } from '../../base/logger.ts'
import type { Agent } from '../../define/agent.ts'
import type { DueLimits, SlotLimits } from '../../store/slots.ts'

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
  /** Turns at once of one tenant, or a function that tells it of each. Default: no limit. */
  readonly turnsPerTenant?: number | ((tenant: string) => number)
  /** By the names that agents have as `account`. */
  readonly accounts?: { readonly [name: string]: AccountLimits }
}

type AgentLimits = Omit<SlotLimits, 'tenant'>

/** The limits of claims on this node. */
export class TurnLimits {
  readonly #tenant: ((tenant: string) => number) | null
  readonly #agents: ReadonlyMap<string, AgentLimits>

  /** `agents`: all that the node has, also those under no limit of their own. */
  constructor(settings: LimitSettings, agents: Iterable<Agent>, logger: Logger) {
    const { turnsPerTenant } = settings
    this.#tenant = turnsPerTenant === undefined ? null : checked(turnsPerTenant, logger)
    this.#agents = new Map([...agents].map((agent) => [agent.name, limitsOf(agent, settings)]))
  }

  /** Of a claim on one conversation. A name that is no agent's is that of a session, which is under no limit. */
  forClaim(tenant: string, name: string): SlotLimits {
    const limits = this.#agents.get(name)
    if (!limits) return {}
    return this.#tenant ? { ...limits, tenant: this.#tenant(tenant) } : limits
  }

  forSearch(): DueLimits {
    return { agents: this.#agents, ...(this.#tenant ? { tenant: this.#tenant } : {}) }
  }
}

/** Null where neither the node nor one of its agents has a limit: then nothing is counted. */
export function turnLimits(settings: LimitSettings, agents: readonly Agent[], logger: Logger): TurnLimits | null {
  const isLimited = agents.some(({ limits, account }) => limits.turns !== null || account !== null)
  return isLimited || settings.turnsPerTenant !== undefined ? new TurnLimits(settings, agents, logger) : null
}

function limitsOf({ limits, account }: Agent, { accounts = {} }: LimitSettings): AgentLimits {
  const turns = account !== null && Object.hasOwn(accounts, account) ? accounts[account]!.turns : undefined
  return {
    ...(limits.turns === null ? {} : { agent: limits.turns }),
    ...(account === null ? {} : { account: { name: account, ...(turns === undefined ? {} : { turns }) } }),
  }
}

/** A function that throws, or says something that is no limit, allows one turn: neither all of them, nor none for ever. */
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
