import { SchemaTooNewError } from '../../../base/errors/store-errors.ts'
import { knownVersion } from '../migrations.ts'
import { peekVersion } from '../own-file.ts'
import { asStoreError } from '../sqlite-errors.ts'

/** The schema of the file as it is, without changing it. Null when there is no file. */
export function foundVersion(path: string): number | null {
  try {
    const version = peekVersion(path, 1_000)
    if (version !== null && version > knownVersion) throw new SchemaTooNewError(version, knownVersion)
    return version
  } catch (error) {
    throw asStoreError(error, path)
  }
}
