import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { PerdureError } from '../../base/errors/perdure-error.ts'
import { SchemaTooNewError, SchemaTooOldError, StoreError } from '../../base/errors/store-errors.ts'
import type { Database } from './database.ts'
import { asStoreError, isBusy } from './failure.ts'
import { createTables } from './tables.ts'

/** Of 0.1. Its files are moved by an export, because no version migrates them. */
const last01 = 15

/** Version `last01 + n` is the schema after n of them. Must only be appended to once released. */
const migrations: readonly string[] = [createTables]

export const knownVersion = last01 + migrations.length

/**
 * Migrates the file to the current schema. Of several processes that open it at once, one migrates and the others find it done. True when the file was
 * empty: everything in it is then synced.
 */
export function migrate(db: Database, path: string): boolean {
  if (versionOf(db, path) === knownVersion) return false
  db.run('BEGIN IMMEDIATE')
  try {
    const version = versionOf(db, path)
    if (version < knownVersion) {
      for (const script of migrations.slice(Math.max(0, version - last01))) db.exec(script)
      db.exec(`PRAGMA user_version = ${knownVersion}`)
    }
    // Durable from here: the whole schema. A crash before this point leaves the old one untouched.
    db.run('COMMIT')
    return version === 0
  } catch (error) {
    db.rollBack()
    throw error
  }
}

function versionOf(db: Database, path: string): number {
  return ownVersion((sql) => db.get(sql), path)
}

/** Runs a query on the file; both a `Database` and a raw SQLite connection can provide it. */
type Ask = <Row>(sql: string) => Row | undefined

/**
 * The version of the schema; 0 when the file is empty. Throws when the file belongs to another program, because a version number alone proves nothing, and
 * when it is of a version that this one does not read.
 */
function ownVersion(ask: Ask, path: string): number {
  const { user_version: version } = ask<{ user_version: number }>('PRAGMA user_version')!
  const { application_id: mark } = ask<{ application_id: number }>('PRAGMA application_id')!
  const first = ask<{ type: string; name: string }>('SELECT type, name FROM sqlite_master LIMIT 1')
  const own = ask<{ n: number }>(
    `SELECT count(*) AS n FROM sqlite_master WHERE type = 'table' AND name IN (${names})`,
  )!.n
  const isEmpty = version === 0 && mark === 0 && first === undefined
  if (isEmpty) return 0
  if (version > 0 && mark === 0 && own === firstTables.length) {
    if (version > knownVersion) throw new SchemaTooNewError(version, knownVersion)
    if (version <= last01) throw new SchemaTooOldError(version, path)
    return version
  }
  const what = first ? `it has a ${first.type} '${first.name}'` : `it is marked with ${mark}, version ${version}`
  throw new StoreError(`'${path}' is a database of another program (${what}). Give the store a file of its own.`, {
    retryable: false,
  })
}

/** Every file of Perdure has them, also of 0.1. */
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

/** Reads the version of a file without changing it or the files beside it: no change of mode, no checkpoint, no rollback. Null when there is no file. */
function peekVersion(path: string, timeoutMs = 0): number | null {
  if (!existsSync(path)) return null
  const db = openUntouched(path, timeoutMs)
  try {
    return ownVersion(<Row>(sql: string) => db.prepare(sql).get() as Row | undefined, path)
  } finally {
    db.close()
  }
}

/** Throws when the file must stay as it is: see `ownVersion`. If it cannot be read this way, the open that follows reports the error. */
export function refuseForeignFile(path: string): void {
  try {
    peekVersion(path)
  } catch (error) {
    if (error instanceof PerdureError || isBusy(error)) throw error
  }
}

function openUntouched(path: string, timeout: number): DatabaseSync {
  // Content that is only in a log is read through it. Without a log, a read-only connection would leave an empty one behind, and a writable one would roll back
  // what another program has to.
  if (existsSync(`${path}-wal`)) return new DatabaseSync(path, { readOnly: true, timeout })
  const url = pathToFileURL(path)
  url.searchParams.set('immutable', '1')
  try {
    return new DatabaseSync(url, { readOnly: true, timeout })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_INVALID_ARG_TYPE') throw error
    // The oldest supported Node takes no URLs. A writable connection removes its log when it closes.
    return new DatabaseSync(path, { timeout })
  }
}

/** The schema version of the file, read without changing it. Null when there is no file. */
export function readSchemaVersion(path: string): number | null {
  try {
    return peekVersion(path, 1_000)
  } catch (error) {
    throw asStoreError(error, path)
  }
}
