import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'

/** A connection that prepares each statement once. Everything is synchronous: no other code runs between two calls. */
export class Database {
  readonly #connection: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()

  constructor(path: string) {
    this.#connection = new DatabaseSync(path, { enableForeignKeyConstraints: false })
  }

  /** Returns how many rows it changed. */
  run(sql: string, ...params: SQLInputValue[]): number {
    return Number(this.#statement(sql).run(...params).changes)
  }

  /** For an INSERT into a table whose key the database gives. */
  insert(sql: string, ...params: SQLInputValue[]): number {
    return Number(this.#statement(sql).run(...params).lastInsertRowid)
  }

  get<Row>(sql: string, ...params: SQLInputValue[]): Row | undefined {
    return this.#statement(sql).get(...params) as Row | undefined
  }

  all<Row>(sql: string, ...params: SQLInputValue[]): Row[] {
    return this.#statement(sql).all(...params) as Row[]
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
      this.run('ROLLBACK')
    }
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
