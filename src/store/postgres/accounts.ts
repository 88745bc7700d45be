import type { Accounts } from '../accounts.ts'
import { type AccountBudget, borrow, paused } from '../budget.ts'
import type { HeldSlots } from '../slots.ts'
import { nowMs } from './columns.ts'
import type { Database, Query } from './database.ts'
import { holdsSlot } from './limit-tables.ts'

/** The accounts of a Postgres store. What is borrowed is decided under the lock of the account's row, by the database's clock. */
export function postgresAccounts(database: Database): Accounts {
  const { schema } = database
  const lock = {
    name: 'account_lock',
    text: `WITH known AS (
        INSERT INTO ${schema}.accounts (name, budget) VALUES ($1, 'null') ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING budget
      ) SELECT budget, ${nowMs} AS now FROM known`,
  }
  const write = { name: 'account_write', text: `UPDATE ${schema}.accounts SET budget = $2 WHERE name = $1` }
  const held = {
    name: 'slots_held',
    text: `SELECT count(*) FILTER (WHERE c.tenant = $1) AS tenant, count(*) FILTER (WHERE c.agent = $2::text) AS agent,
        count(*) FILTER (WHERE c.account = $3::text) AS account,
        EXISTS (SELECT FROM ${schema}.conversations o WHERE o.tenant = $1 AND o.id = $4 AND o.leased_until > ${nowMs}) AS "isHeld"
      FROM ${schema}.conversations c WHERE ${holdsSlot}`,
  }

  async function locked(query: Query, account: string): Promise<{ budget: AccountBudget | null; now: number }> {
    const [row] = await query<{ budget: string; now: number }>(lock, [account])
    return { budget: JSON.parse(row!.budget) as AccountBudget | null, now: row!.now }
  }

  return {
    // Not repeated when the answer is lost: the slice counts as lost, too.
    borrow: (request) =>
      database.transaction(async (query) => {
        const { budget: known, now } = await locked(query, request.account)
        const { budget, outcome } = borrow(known, request, now)
        await query(write, [request.account, JSON.stringify(budget)])
        return { commit: true, value: outcome }
      }, 'reject'),
    pause: (account, forMs) =>
      database.transaction(async (query) => {
        const { budget, now } = await locked(query, account)
        await query(write, [account, JSON.stringify(paused(budget, forMs, now))])
        return { commit: true, value: undefined }
      }, 'repeat'),
    async held({ tenant, id, agent, account }) {
      const [row] = await database.run<HeldSlots & { readonly isHeld: boolean }>(held, [tenant, agent, account, id])
      return row!
    },
  }
}
