import type { ConversationRow } from '../../upkeep.ts'
import type { Database } from '../database.ts'

const pageSize = 50

/** Holds rows in a temporary file of one connection, which SQLite removes with it. Needs no lock on the store. */
export class Staging {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
    db.exec('PRAGMA temp_store = FILE')
    db.exec('CREATE TEMP TABLE staged (n INTEGER PRIMARY KEY, row TEXT NOT NULL)')
  }

  add(row: ConversationRow): void {
    this.#db.run('INSERT INTO temp.staged (row) VALUES (?)', JSON.stringify(row))
  }

  /** In the order they were added. */
  *rows(): Generator<ConversationRow> {
    let last = 0
    for (;;) {
      const page = this.#db.all<{ n: number; row: string }>(
        'SELECT n, row FROM temp.staged WHERE n > ? ORDER BY n LIMIT ?',
        last,
        pageSize,
      )
      for (const { row } of page) yield JSON.parse(row) as ConversationRow
      if (page.length < pageSize) return
      last = page.at(-1)!.n
    }
  }
}
