import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { StoreError } from '../../base/errors/store-errors.ts'
import { isBusy } from './sqlite-errors.ts'

/** What a question about the file needs; a connection of ours and one of SQLite both have it. */
type Ask = <Row>(sql: string) => Row | undefined

/** The version of the schema; 0 where nothing was made yet. Throws where the file is of another program: a version alone may be anybody's. */
export function ownVersion(ask: Ask, path: string): number {
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
export function peekVersion(path: string, timeoutMs = 0): number | null {
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
