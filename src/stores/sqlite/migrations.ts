import { SchemaTooNewError, StoreError } from '../../errors/store-errors.ts'
import type { Database } from './database.ts'
import { createTables } from './migrations/001-create-tables.ts'
import { indexForks } from './migrations/002-index-forks.ts'
import { oneAgenda } from './migrations/003-one-agenda.ts'
import { keysWithEpochs } from './migrations/004-keys-with-epochs.ts'

/** The schema's version is the number of migrations that have run. Must only be added to. */
const migrations: readonly string[] = [createTables, indexForks, oneAgenda, keysWithEpochs]

export const knownVersion = migrations.length

/** Brings the file to the current schema. Of several processes that open it at once, one does it and the others find it done. */
export function migrate(db: Database, path: string): void {
  if (isCurrent(db)) return
  db.run('BEGIN IMMEDIATE')
  try {
    if (!isCurrent(db)) {
      const version = versionOf(db)
      if (version === 0) refuseForeignFile(db, path)
      for (const script of migrations.slice(version)) db.exec(script)
      db.exec(`PRAGMA user_version = ${migrations.length}`)
    }
    // Durable from here: the whole schema. A crash before it finds the old one, untouched.
    db.run('COMMIT')
  } catch (error) {
    db.rollBack()
    throw error
  }
}

function isCurrent(db: Database): boolean {
  const version = versionOf(db)
  if (version > migrations.length) throw new SchemaTooNewError(version, migrations.length)
  return version === migrations.length
}

function versionOf(db: Database): number {
  return db.get<{ user_version: number }>('PRAGMA user_version')?.user_version ?? 0
}

function refuseForeignFile(db: Database, path: string): void {
  const table = db.get<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table' LIMIT 1")
  if (!table) return
  throw new StoreError(
    `'${path}' is a database of another program (it has a table '${table.name}'). Choose a file of its own for the store.`,
    { retryable: false },
  )
}
