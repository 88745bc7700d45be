import type { Accounts } from '../accounts.ts'
import { type AccountBudget, borrow, paused } from '../budget.ts'
import type { MemoryTables } from './memory-tables.ts'
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
    held: async (place) => heldBeside(tables, place, clock.now()),
  }
}
