import { DatabaseSync } from 'node:sqlite'

export type RawRow = { readonly type: string; readonly content: string }

/**
 * The baseline: `node:sqlite` with the store's settings, its table of events with its index, and one prepared INSERT
 * per event in its own transaction. It is given the next seq, checks nothing and encodes nothing.
 */
export class RawSqlite {
  readonly #connection: DatabaseSync
  readonly #insert
  readonly #select
  readonly #begin
  readonly #commit

  constructor(path: string) {
    this.#connection = new DatabaseSync(path, { enableForeignKeyConstraints: false })
    this.#connection.exec(
      'PRAGMA busy_timeout = 0; PRAGMA synchronous = FULL; PRAGMA cache_size = -16000; PRAGMA temp_store = MEMORY',
    )
    this.#connection.exec('PRAGMA journal_mode = WAL')
    this.#connection.exec(`
      CREATE TABLE IF NOT EXISTS events (
        id INTEGER PRIMARY KEY,
        cid INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        at INTEGER NOT NULL,
        type TEXT NOT NULL,
        content TEXT NOT NULL
      ) STRICT;
      CREATE UNIQUE INDEX IF NOT EXISTS events_by_seq ON events (cid, seq);
    `)
    this.#insert = this.#connection.prepare('INSERT INTO events (cid, seq, at, type, content) VALUES (?, ?, ?, ?, ?)')
    this.#begin = this.#connection.prepare('BEGIN IMMEDIATE')
    this.#commit = this.#connection.prepare('COMMIT')
    this.#select = this.#connection.prepare('SELECT seq, at, type, content FROM events WHERE cid = ? ORDER BY seq')
  }

  append(cid: number, seq: number, type: string, content: string): void {
    this.#insert.run(cid, seq, Date.now(), type, content)
  }

  /** In one transaction. */
  appendAll(cid: number, seq: number, rows: readonly RawRow[]): void {
    this.begin()
    for (const [index, { type, content }] of rows.entries()) this.append(cid, seq + index, type, content)
    this.commit()
  }

  /** Parses the JSON, as every reader must. */
  read(cid: number): unknown[] {
    return this.#select.all(cid).map((row) => ({ ...row, content: JSON.parse(String(row['content'])) }))
  }

  begin(): void {
    this.#begin.run()
  }

  commit(): void {
    this.#commit.run()
  }

  close(): void {
    this.#connection.close()
  }
}
