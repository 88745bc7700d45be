import type { Accounts } from '../accounts.ts'
import { type AccountBudget, borrow, paused } from '../budget.ts'
import { isLeased, type MemoryTables } from './memory-tables.ts'
import { heldBeside } from './slots.ts'

/** The accounts of a memory store. Every method runs synchronously before it returns its promise. */
export function memoryAccounts(tables: MemoryTables, clock: { now(): number }): Accounts {
  const budgets = new Map<string, AccountBudget>()
  return {
    async borrow(request) {
      const { budget, outcome } = borrow(budgets.get(request.account) ?? null, request, clock.now())
      budgets.set(request.account, budget)
      return outcome
    },
    async pause(account, forMs) {
      budgets.set(account, paused(budgets.get(account) ?? null, forMs, clock.now()))
    },
    async held(place) {
      const now = clock.now()
      const row = tables.tenant(place.tenant).conversations.get(place.id)
      return {
        ...heldBeside(tables, { tenant: place.tenant, agent: place.agent, account: place.account }, now),
        isHeld: row !== undefined && isLeased(row, now),
      }
    },
  }
}
