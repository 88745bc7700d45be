import pg from 'pg'
import type { RawRow } from './raw-sqlite.ts'

/**
 * The baseline: `pg` with a pool of the same size and the store's session settings, its table of events with its key,
 * and one prepared INSERT per event, each its own transaction. It is given the next seq, checks nothing and encodes
 * nothing.
 */
export class RawPostgres {
  readonly #pool: pg.Pool

  constructor(connectionString: string, max: number) {
    this.#pool = new pg.Pool({ connectionString, max, options: '-c synchronous_commit=on -c jit=off' })
  }

  async createTable(): Promise<void> {
    await this.#pool.query(`
      CREATE SCHEMA raw;
      CREATE TABLE raw.events (
        tenant text COLLATE "C" NOT NULL,
        conversation_id text COLLATE "C" NOT NULL,
        seq bigint NOT NULL,
        at bigint NOT NULL,
        type text COLLATE "C" NOT NULL,
        content text NOT NULL,
        PRIMARY KEY (tenant, conversation_id, seq)
      )`)
  }

  async append(id: string, seq: number, type: string, content: string): Promise<void> {
    await this.#pool.query({
      name: 'append',
      text: 'INSERT INTO raw.events (tenant, conversation_id, seq, at, type, content) VALUES ($1, $2, $3, $4, $5, $6)',
      values: ['default', id, seq, Date.now(), type, content],
    })
  }

  /** In one statement, which is one transaction. */
  async appendAll(id: string, seq: number, rows: readonly RawRow[]): Promise<void> {
    await this.#pool.query({
      name: 'append_all',
      text: `INSERT INTO raw.events (tenant, conversation_id, seq, at, type, content)
        SELECT $1, $2, $3 + n - 1, $4, type, content FROM unnest($5::text[], $6::text[]) WITH ORDINALITY AS row (type, content, n)`,
      values: ['default', id, seq, Date.now(), rows.map(({ type }) => type), rows.map(({ content }) => content)],
    })
  }

  /** Parses the JSON, as every reader must. */
  async read(id: string): Promise<unknown[]> {
    const { rows } = await this.#pool.query({
      name: 'read',
      text: 'SELECT seq, at, type, content FROM raw.events WHERE tenant = $1 AND conversation_id = $2 ORDER BY seq',
      values: ['default', id],
    })
    return rows.map((row) => ({ ...row, content: JSON.parse(row.content) }))
  }

  async close(): Promise<void> {
    await this.#pool.end()
  }
}
