import type { ClientBase, Pool } from 'pg'
import { SchemaTooNewError, SchemaTooOldError, StoreError } from '../../base/errors/store-errors.ts'
import { nowMs } from './columns.ts'
import { createCommitFunction } from './commit-function.ts'
import { breakingAfter, discard, quoteSchema } from './connection.ts'
import { deleteFunctions } from './delete-functions.ts'
import { bulkJobs } from './jobs.ts'
import { limits } from './limit-tables.ts'
import { createNodes } from './nodes.ts'
import { outbox } from './outbox-tables.ts'
import { createSteering } from './steering.ts'
import { createTables } from './tables.ts'

/** Of 0.1. Its databases are moved by an export, because no version migrates them. */
const last01 = 20

const createSchema = (schema: string): string =>
  [createTables, outbox, bulkJobs, createNodes, createSteering, limits, deleteFunctions, createCommitFunction]
    .map((part) => part(schema))
    .join('\n')

/** Version `last01 + n` is the schema after n of them. Must only be appended to once released. */
const migrations: readonly ((schema: string) => string)[] = [createSchema]

export const knownVersion = last01 + migrations.length

type MigrateOptions = {
  readonly schema: string
  readonly answerTimeoutMs: number
  readonly migrateTimeoutMs: number
}

/**
 * Migrates the schema to the version this package knows. Safe when many processes do it at once: one migrates, the others wait, none longer than
 * `migrateTimeoutMs`.
 */
export async function migrate(
  pool: Pool,
  { schema, answerTimeoutMs, migrateTimeoutMs }: MigrateOptions,
): Promise<void> {
  const client = await pool.connect()
  let isHealthy = false
  try {
    const isDone = await breakingAfter(client, answerTimeoutMs, () => isCurrent(client, schema))
    if (!isDone) await breakingAfter(client, migrateTimeoutMs, () => migrateAlone(client, schema))
    isHealthy = true
  } finally {
    if (isHealthy) client.release()
    else discard(client)
  }
}

async function migrateAlone(client: ClientBase, schema: string): Promise<void> {
  const quoted = quoteSchema(schema)
  await client.query('BEGIN')
  // Applies to the new tables too: an open store may write immediately.
  await client.query('SET LOCAL synchronous_commit = on')
  await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`perdure migrations of ${schema}`])
  await checkEncoding(client)
  if (!(await hasSchema(client, schema))) await client.query(`CREATE SCHEMA ${quoted}`)
  await client.query(
    `CREATE TABLE IF NOT EXISTS ${quoted}.migrations (number integer PRIMARY KEY, applied_at bigint NOT NULL)`,
  )
  const version = await versionOf(client, schema)
  for (let number = Math.max(version, last01) + 1; number <= knownVersion; number++) {
    await client.query(migrations[number - last01 - 1]!(quoted))
    await client.query(`INSERT INTO ${quoted}.migrations (number, applied_at) VALUES ($1, ${nowMs})`, [number])
  }
  await client.query('COMMIT')
}

async function isCurrent(client: ClientBase, schema: string): Promise<boolean> {
  return (await readSchemaVersion(client, schema)) === knownVersion
}

/** Null when nothing has been migrated yet. Throws when this version does not read what is there. */
export async function readSchemaVersion(client: ClientBase, schema: string): Promise<number | null> {
  const table = `${quoteSchema(schema)}.migrations`
  const { rows } = await client.query<{ found: boolean }>('SELECT to_regclass($1) IS NOT NULL AS found', [table])
  return rows[0]?.found === true ? versionOf(client, schema) : null
}

/** 0 when nothing has been migrated yet. Throws if this version cannot read the schema. */
async function versionOf(client: ClientBase, schema: string): Promise<number> {
  const { rows } = await client.query<{ version: number }>(
    `SELECT coalesce(max(number), 0) AS version FROM ${quoteSchema(schema)}.migrations`,
  )
  const version = rows[0]?.version ?? 0
  if (version > knownVersion) throw new SchemaTooNewError(version, knownVersion)
  if (version > 0 && version <= last01) throw new SchemaTooOldError(version, 'postgres://…')
  return version
}

async function checkEncoding(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ server_encoding: string }>('SHOW server_encoding')
  const encoding = rows[0]?.server_encoding
  if (encoding !== 'UTF8') {
    throw new StoreError(`The database has the encoding ${encoding}, which cannot hold all text. Use one with UTF8.`, {
      retryable: false,
    })
  }
}

/** Checked first, because `CREATE SCHEMA IF NOT EXISTS` needs a permission that a role may lack. */
async function hasSchema(client: ClientBase, schema: string): Promise<boolean> {
  const { rowCount } = await client.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema])
  return rowCount === 1
}
