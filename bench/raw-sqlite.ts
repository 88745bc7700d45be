import { DatabaseSync } from 'node:sqlite'

/**
 * What the adapter is measured against: `node:sqlite` with the adapter's settings, its table of events with its index, and one prepared
 * INSERT in a transaction of its own per event. It is told the next seq, checks nothing, encodes nothing.
 */
export class RawSqlite {
  readonly #connection: DatabaseSync
  readonly #insert
  readonly #select

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
    this.#select = this.#connection.prepare('SELECT seq, at, type, content FROM events WHERE cid = ? ORDER BY seq')
  }

  append(cid: number, seq: number, type: string, content: string): void {
    this.#insert.run(cid, seq, Date.now(), type, content)
  }

  /** With the JSON parsed, as whoever reads it must. */
  read(cid: number): unknown[] {
    return this.#select.all(cid).map((row) => ({ ...row, content: JSON.parse(String(row['content'])) }))
  }

  /** Only for filling a file whose size is looked at. */
  begin(): void {
    this.#connection.exec('BEGIN')
  }

  commit(): void {
    this.#connection.exec('COMMIT')
  }

  close(): void {
    this.#connection.close()
  }
}
