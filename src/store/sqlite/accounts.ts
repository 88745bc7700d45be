import type { Accounts } from '../accounts.ts'
import { type AccountBudget, borrow, paused } from '../budget.ts'
import type { Connection } from './connection.ts'
import type { Database } from './database.ts'
import type { GroupCommit } from './group-commit.ts'
import { heldBeside } from './slots.ts'

/** The accounts of a SQLite store. */
export function sqliteAccounts(connection: Connection, commits: GroupCommit): Accounts {
  return {
    borrow: (request) =>
      commits.write((db) => {
        const { budget, outcome } = borrow(read(db, request.account), request, Date.now())
        write(db, request.account, budget)
        return outcome
      }),
    pause: (account, forMs) => commits.write((db) => write(db, account, paused(read(db, account), forMs, Date.now()))),
    held: ({ tenant, id, agent, account }) =>
      connection.read((db) => {
        const now = Date.now()
        const own = 'SELECT 1 FROM conversations WHERE tenant = ? AND id = ? AND lease_until > ?'
        const isHeld = db.get(own, tenant, id, now) !== undefined
        return { ...heldBeside(db, { tenant, agent, account, cid: null }, now), isHeld }
      }),
  }
}

function read(db: Database, account: string): AccountBudget | null {
  const row = db.get<{ budget: string }>('SELECT budget FROM accounts WHERE name = ?', account)
  return row ? (JSON.parse(row.budget) as AccountBudget) : null
}

function write(db: Database, account: string, budget: AccountBudget): void {
  const upsert =
    'INSERT INTO accounts (name, budget) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET budget = excluded.budget'
  db.run(upsert, account, JSON.stringify(budget))
}
