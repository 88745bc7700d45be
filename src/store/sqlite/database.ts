import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { fittingRows } from '../rows.ts'
import type { PageBounds } from '../store.ts'
import { isHarmless } from './failure.ts'

/** In KiB. A larger transaction goes to the log before its commit. */
export const cacheSize = 'PRAGMA cache_size = -16000'

/**
 * A connection that prepares each statement once. Everything is synchronous: no other code runs between two calls.
 * Parameters must be plain `?`: the oldest supported Node cannot bind numbered ones.
 */
export class Database {
  readonly #connection: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()
  #isBroken = false

  constructor(path: string) {
    this.#connection = new DatabaseSync(path, { enableForeignKeyConstraints: false })
  }

  /** Returns the number of changed rows. */
  run(sql: string, ...params: SQLInputValue[]): number {
    return Number(this.#statement(sql).run(...params).changes)
  }

  /** For an INSERT into a table whose key the database assigns. */
  insert(sql: string, ...params: SQLInputValue[]): number {
    return Number(this.#statement(sql).run(...params).lastInsertRowid)
  }

  get<Row>(sql: string, ...params: SQLInputValue[]): Row | undefined {
    return this.#statement(sql).get(...params) as Row | undefined
  }

  all<Row>(sql: string, ...params: SQLInputValue[]): Row[] {
    return this.#statement(sql).all(...params) as Row[]
  }

  /** As many rows as the bounds allow, holding no more than those in memory. `sql` itself must have no LIMIT. */
  page<Row>(
    sql: string,
    { skip = 0, ...bounds }: PageBounds & { readonly skip?: number },
    bytesOf: (row: Row) => number,
    ...params: SQLInputValue[]
  ): Row[] {
    const { limit, maxBytes } = bounds
    // With a LIMIT, even an infinite one, SQLite takes twice as long for a short log.
    const isLimited = limit !== undefined || skip > 0
    const statement = isLimited ? `${sql} LIMIT ? OFFSET ?` : sql
    const values = isLimited ? [...params, limit ?? -1, skip] : params
    if (maxBytes === undefined) return this.all(statement, ...values)
    return fittingRows(this.#statement(statement).iterate(...values) as Iterable<Row>, bounds, bytesOf)
  }

  /** For scripts of several statements. */
  exec(sql: string): void {
    this.#connection.exec(sql)
  }

  /** All reads of `work` see the same moment. */
  snapshot<T>(work: () => T): T {
    this.run('BEGIN')
    try {
      return work()
    } finally {
      this.rollBack()
    }
  }

  /** Never throws, so that it does not hide the original error. */
  rollBack(): void {
    try {
      this.run('ROLLBACK')
    } catch (error) {
      // Harmless: SQLite has already rolled back.
      if (!isHarmless(error)) this.#isBroken = true
    }
  }

  /** Whether it may be stuck inside a transaction. */
  get isBroken(): boolean {
    return this.#isBroken
  }

  close(): void {
    this.#statements.clear()
    this.#connection.close()
  }

  #statement(sql: string): StatementSync {
    let statement = this.#statements.get(sql)
    if (!statement) {
      statement = this.#connection.prepare(sql)
      this.#statements.set(sql, statement)
    }
    return statement
  }
}
