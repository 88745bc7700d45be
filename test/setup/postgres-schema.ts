import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { inject } from 'vitest'
import { silentLogger } from '../../src/base/logger.ts'
import type { Driver } from '../../src/store/driver.ts'
import { Database, type DatabaseOptions } from '../../src/store/postgres/database.ts'
import { postgresDriver } from '../../src/store/postgres/postgres-store.ts'

/** Migrated by an earlier test of this process, and empty again. */
const spares: PostgresSchema[] = []
let connected: Promise<pg.Client> | null = null

const defaults = {
  max: 4,
  logger: silentLogger,
  connectTimeoutMs: 10_000,
  answerTimeoutMs: 20_000,
  migrateTimeoutMs: 60_000,
  hintCheckMs: 10_000,
}

/**
 * A schema of the server of this run. To migrate one and to connect take longer than most tests, so tests pass on both: a schema that was
 * given back is emptied and taken by the next test, with the connections of its stores.
 */
export class PostgresSchema {
  readonly name: string
  readonly #idle: KeptDatabase[] = []

  constructor(name = `test_${randomUUID().replaceAll('-', '')}`) {
    this.name = name
  }

  /** An empty schema for one test. Its first store migrates it where no earlier test has. */
  static take(): PostgresSchema {
    return spares.pop() ?? new PostgresSchema()
  }

  /** For one store, as another process would have it: no two that are open at once share connections. */
  open(): Driver {
    const options = { ...defaults, connectionString: inject('postgresUrl'), schema: this.name }
    const database = this.#idle.pop() ?? new KeptDatabase(options, (closed) => this.#idle.push(closed))
    return postgresDriver(options, database)
  }

  /** Once its stores are closed. A test that failed must not give its schema back: what it left running could still write there. */
  async giveBack(): Promise<void> {
    connected ??= connect()
    const client = await connected
    const { rows } = await client.query<{ found: boolean }>('SELECT to_regclass($1) IS NOT NULL AS found', [
      `${this.name}.migrations`,
    ])
    if (!rows[0]!.found) return
    await client.query(emptying(this.name))
    spares.push(this)
  }
}

/** Keeps its connections when its store is closed. */
class KeptDatabase extends Database {
  readonly #onClose: (database: KeptDatabase) => void

  constructor(options: DatabaseOptions, onClose: (database: KeptDatabase) => void) {
    super(options)
    this.#onClose = onClose
  }

  override async close(): Promise<void> {
    this.#onClose(this)
  }
}

/** Deleting is a fifth of the work of truncating where there are few rows. Sequences begin again, as in a new schema. */
function emptying(schema: string): string {
  return `DO $$
    DECLARE name text;
    BEGIN
      SET LOCAL session_replication_role = replica;
      FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = '${schema}' AND tablename <> 'migrations' LOOP
        EXECUTE format('DELETE FROM ${schema}.%I', name);
      END LOOP;
      IF EXISTS (SELECT FROM pg_trigger WHERE tgrelid = '${schema}.events'::regclass AND tgname = 'outbox_rows') THEN
        DROP TRIGGER outbox_rows ON ${schema}.events;
      END IF;
      PERFORM setval(format('${schema}.%I', sequencename)::regclass, start_value, false)
        FROM pg_sequences WHERE schemaname = '${schema}';
    END $$`
}

async function connect(): Promise<pg.Client> {
  const client = new pg.Client(inject('postgresUrl'))
  // The server ends before this process does.
  client.on('error', () => {})
  await client.connect()
  return client
}
