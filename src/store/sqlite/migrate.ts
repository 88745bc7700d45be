import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { SchemaTooNewError, StoreError } from '../../base/errors/store-errors.ts'
import type { Database } from './database.ts'
import { asStoreError, isBusy } from './failure.ts'
import { createTables, idleSeq, indexForks, keysWithEpochs, oneAgenda, rememberLapses } from './tables.ts'

/** The schema's version is the number of migrations that have run. Must only be added to. */
const migrations: readonly string[] = [createTables, indexForks, oneAgenda, keysWithEpochs, idleSeq, rememberLapses]

export const knownVersion = migrations.length

/** Brings the file to the current schema. Of several processes that open it at once, one does it and the others find it done. */
export function migrate(db: Database, path: string): void {
  if (versionOf(db, path) === knownVersion) return
  db.run('BEGIN IMMEDIATE')
  try {
    const version = versionOf(db, path)
    if (version < knownVersion) {
      for (const script of migrations.slice(version)) db.exec(script)
      db.exec(`PRAGMA user_version = ${knownVersion}`)
    }
    // Durable from here: the whole schema. A crash before it finds the old one, untouched.
    db.run('COMMIT')
  } catch (error) {
    db.rollBack()
    throw error
  }
}

function versionOf(db: Database, path: string): number {
  const version = ownVersion((sql) => db.get(sql), path)
  if (version > knownVersion) throw new SchemaTooNewError(version, knownVersion)
  return version
}

/** What a question about the file needs; a connection of ours and one of SQLite both have it. */
type Ask = <Row>(sql: string) => Row | undefined

/** The version of the schema; 0 where nothing was made yet. Throws where the file is of another program: a version alone may be anybody's. */
function ownVersion(ask: Ask, path: string): number {
  const { user_version: version } = ask<{ user_version: number }>('PRAGMA user_version')!
  const { application_id: mark } = ask<{ application_id: number }>('PRAGMA application_id')!
  const first = ask<{ type: string; name: string }>('SELECT type, name FROM sqlite_master LIMIT 1')
  const own = ask<{ n: number }>(
    `SELECT count(*) AS n FROM sqlite_master WHERE type = 'table' AND name IN (${names})`,
  )!.n
  const isEmpty = version === 0 && mark === 0 && first === undefined
  if (isEmpty || (version > 0 && mark === 0 && own === firstTables.length)) return version
  const what = first ? `it has a ${first.type} '${first.name}'` : `it is marked with ${mark}, version ${version}`
  throw new StoreError(
    `'${path}' is a database of another program (${what}). Choose a file of its own for the store.`,
    { retryable: false },
  )
}

/** Those of the first migration: every file of ours has them. */
const firstTables = [
  'meta',
  'conversations',
  'events',
  'keys',
  'calls',
  'summaries',
  'model_calls',
  'blobs',
  'snapshots',
]
const names = firstTables.map((name) => `'${name}'`).join(', ')

/**
 * The same of a file as it lies there, and neither it nor what is beside it changes: no change of mode, no log put into it, nothing rolled back. Null when there
 * is no file.
 */
function peekVersion(path: string, timeoutMs = 0): number | null {
  if (!existsSync(path)) return null
  const db = openUntouched(path, timeoutMs)
  try {
    return ownVersion(<Row>(sql: string) => db.prepare(sql).get() as Row | undefined, path)
  } finally {
    db.close()
  }
}

/** Throws where the file is of another program. Of a file that cannot be read this way the open that follows tells. */
export function refuseForeignFile(path: string): void {
  try {
    peekVersion(path)
  } catch (error) {
    if (error instanceof StoreError || isBusy(error)) throw error
  }
}

function openUntouched(path: string, timeout: number): DatabaseSync {
  // What is only in a log is read through it. Where there is none, a reader would leave an empty one behind, and one that may write would
  // roll back what another program has to.
  if (existsSync(`${path}-wal`)) return new DatabaseSync(path, { readOnly: true, timeout })
  const url = pathToFileURL(path)
  url.searchParams.set('immutable', '1')
  try {
    return new DatabaseSync(url, { readOnly: true, timeout })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_INVALID_ARG_TYPE') throw error
    // The oldest Node we support takes no URLs. A connection that may write takes its log with it when it closes.
    return new DatabaseSync(path, { timeout })
  }
}

/** The schema of the file as it is, without changing it. Null when there is no file. */
export function readSchemaVersion(path: string): number | null {
  try {
    const version = peekVersion(path, 1_000)
    if (version !== null && version > knownVersion) throw new SchemaTooNewError(version, knownVersion)
    return version
  } catch (error) {
    throw asStoreError(error, path)
  }
}
