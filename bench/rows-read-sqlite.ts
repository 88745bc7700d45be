import { DatabaseSync, type SQLInputValue, StatementSync } from 'node:sqlite'
import type { RowsRead } from './revival.ts'

type Reading<Result> = (this: StatementSync, ...params: SQLInputValue[]) => Result

/**
 * Counts the rows that statements return. These are all the rows they read, because a plan that visits other rows is
 * refused: each statement must find its rows by an index, without sorting them.
 */
export function rowsReadSqlite(path: string): RowsRead {
  return async (work) => {
    const seen = new Set<string>()
    let rows = 0
    const { all, get } = StatementSync.prototype
    StatementSync.prototype.all = function (this: StatementSync, ...params: SQLInputValue[]) {
      const result = (all as Reading<unknown[]>).apply(this, params)
      seen.add(this.sourceSQL)
      rows += result.length
      return result
    } as typeof all
    StatementSync.prototype.get = function (this: StatementSync, ...params: SQLInputValue[]) {
      const result = (get as Reading<unknown>).apply(this, params)
      seen.add(this.sourceSQL)
      rows += result === undefined ? 0 : 1
      return result
    } as typeof get
    try {
      await work()
    } finally {
      StatementSync.prototype.all = all
      StatementSync.prototype.get = get
    }
    demandIndexes(path, seen)
    return rows
  }
}

function demandIndexes(path: string, statements: ReadonlySet<string>): void {
  const connection = new DatabaseSync(path, { readOnly: true })
  try {
    for (const sql of statements) {
      const plan = connection.prepare(`EXPLAIN QUERY PLAN ${sql}`).all()
      const walks = plan.filter(({ detail }) => /SCAN|TEMP B-TREE/.test(String(detail)))
      if (walks.length > 0) throw new Error(`this reads more than it returns: ${sql}\n${JSON.stringify(plan)}`)
    }
  } finally {
    connection.close()
  }
}
