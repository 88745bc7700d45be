import { SchemaTooNewError } from '../../base/errors/store-errors.ts'
import type { Database } from './database.ts'
import { createTables } from './migrations/001-create-tables.ts'
import { indexForks } from './migrations/002-index-forks.ts'
import { oneAgenda } from './migrations/003-one-agenda.ts'
import { keysWithEpochs } from './migrations/004-keys-with-epochs.ts'
import { idleSeq } from './migrations/005-idle-seq.ts'
import { rememberLapses } from './migrations/006-remember-lapses.ts'
import { ownVersion } from './own-file.ts'

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
