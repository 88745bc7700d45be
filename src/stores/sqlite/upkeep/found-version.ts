import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { SchemaTooNewError } from '../../../errors/store-errors.ts'
import { knownVersion } from '../migrations.ts'
import { asStoreError } from '../sqlite-errors.ts'

/** The schema of the file as it is, without opening it for writing. Null when there is no file. */
export function foundVersion(path: string): number | null {
  if (!existsSync(path)) return null
  try {
    const db = new DatabaseSync(path, { readOnly: true, timeout: 1_000 })
    try {
      const { user_version: version } = db.prepare('PRAGMA user_version').get() as { user_version: number }
      if (version > knownVersion) throw new SchemaTooNewError(version, knownVersion)
      return version
    } finally {
      db.close()
    }
  } catch (error) {
    throw asStoreError(error, path)
  }
}
