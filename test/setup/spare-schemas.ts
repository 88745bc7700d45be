import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { inject } from 'vitest'

/** Migrated by an earlier test of this process, and empty again: to migrate a schema takes longer than most tests. */
const spares: string[] = []
let connected: Promise<pg.Client> | null = null

/** A schema for one test. It is empty and may be migrated already; otherwise the store makes it. */
export function takeSchema(): string {
  return spares.pop() ?? `spare_${randomUUID().replaceAll('-', '')}`
}

/** Once everything that uses it is closed. A test that failed must not give its schema back: what it left running could still write there. */
export async function giveBackSchema(schema: string): Promise<void> {
  connected ??= connect()
  const client = await connected
  const { rows } = await client.query<{ found: boolean }>('SELECT to_regclass($1) IS NOT NULL AS found', [
    `${schema}.migrations`,
  ])
  if (!rows[0]!.found) return
  await client.query(emptying(schema))
  spares.push(schema)
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
