import { areLimited, type DueLimits, type SlotLimits } from '../slots.ts'
import type { Database } from './database.ts'

/** The limits of a claim as parameters: of the tenant, of the agent, the account, and its limit. */
export function limitValues({ tenant, agent, account }: SlotLimits): (number | string | null)[] {
  return [tenant ?? null, agent ?? null, account?.name ?? null, account?.turns ?? null]
}

/** Whether a claim counts slots, or records an account. */
export function isWithin(limits: SlotLimits): boolean {
  return areLimited(limits) || limits.account !== undefined
}

/** The limits of a search as the parameters of `fair_due`. A limit that is a function is called for each tenant that has anything due or held. */
export async function searchLimits(
  database: Database,
  agents: readonly string[],
  limits: DueLimits | null,
): Promise<[string | null, number | null, string | null]> {
  if (!limits) return [null, null, null]
  const byAgent = Object.fromEntries(
    [...limits.agents].map(([name, { agent, account }]) => [
      name,
      {
        ...(agent === undefined ? {} : { turns: agent }),
        ...(account === undefined ? {} : { account: account.name }),
        ...(account?.turns === undefined ? {} : { accountTurns: account.turns }),
      },
    ]),
  )
  const { tenant } = limits
  const ofTenants = typeof tenant === 'function' ? await limitsOfTenants(database, agents, tenant) : null
  // No limit is less than one. Tenants that were not asked about hold nothing: they appeared since, or are beyond what one search covers.
  const ofOthers = typeof tenant === 'function' ? 1 : (tenant ?? null)
  return [JSON.stringify(byAgent), ofOthers, ofTenants && JSON.stringify(ofTenants)]
}

async function limitsOfTenants(
  database: Database,
  agents: readonly string[],
  limitOf: (tenant: string) => number,
): Promise<Record<string, number>> {
  const { schema } = database
  const tenants = {
    name: 'waiting_tenants',
    text: `SELECT tenant FROM ${schema}.waiting_tenants($1::text[])
      UNION SELECT c.tenant FROM ${schema}.conversations c WHERE c.holder IS NOT NULL`,
  }
  const rows = await database.run<{ tenant: string }>(tenants, [agents])
  return Object.fromEntries(rows.map(({ tenant }) => [tenant, limitOf(tenant)]))
}
