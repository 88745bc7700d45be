import pg from 'pg'
import { freshDatabase } from '../../setup/fresh-database.ts'

/** Databases for tests on a server of their own: each run begins with an empty one, and leaves nothing behind for the next. */
export class TestDatabases {
  readonly #server: string
  /** One that the last run has not touched: most tests need none, and to make one takes as long as to run them. */
  #untouched: string | null = null

  constructor(server: string) {
    this.#server = server
  }

  async empty(): Promise<string> {
    const database = this.#untouched ?? (await freshDatabase(this.#server))
    this.#untouched = null
    return database
  }

  /** After a run: drops all that there is, also what tests have made for themselves. */
  async tidy(database: string, hasEndedWell: boolean): Promise<void> {
    if (hasEndedWell && (await isUntouched(database))) this.#untouched = database
    else await dropAll(this.#server)
  }
}

/** Whether there is nothing in it, and no other database beside it. */
async function isUntouched(database: string): Promise<boolean> {
  const [row] = await query<{ isUntouched: boolean }>(
    database,
    `SELECT NOT EXISTS (SELECT FROM pg_namespace WHERE nspname !~ '^(pg_|public$|information_schema$)')
       AND NOT EXISTS (SELECT FROM pg_class WHERE relnamespace = 'public'::regnamespace)
       AND (SELECT count(*) FROM pg_database WHERE ${isOfTests}) = 1
       AND (SELECT count(*) FROM pg_roles WHERE rolname !~ '^pg_') = 1
       AND NOT EXISTS (SELECT FROM pg_db_role_setting) AS "isUntouched"`,
  )
  return row!.isUntouched
}

async function dropAll(server: string): Promise<void> {
  const found = await query<{ name: string }>(
    server,
    `SELECT quote_ident(datname) AS name FROM pg_database WHERE ${isOfTests} AND datname <> current_database()`,
  )
  for (const { name } of found) await query(server, `DROP DATABASE ${name} WITH (FORCE)`)
}

/** A server has one of this name from its beginning. */
const isOfTests = "NOT datistemplate AND datname <> 'postgres'"

async function query<Row extends object>(database: string, text: string): Promise<Row[]> {
  const client = new pg.Client(database)
  await client.connect()
  try {
    return (await client.query<Row>(text)).rows
  } finally {
    await client.end()
  }
}
