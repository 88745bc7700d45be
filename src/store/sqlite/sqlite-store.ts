import { resolve } from 'node:path'
import { InvalidArgumentError } from '../../base/errors/store-errors.ts'
import { safeLogger } from '../../base/redact/redacting-logger.ts'
import { checkDuration } from '../checks.ts'
import { createStore, type StoreOptions } from '../create-store.ts'
import type { Store } from '../store.ts'
import { sqliteDriver } from './sqlite-driver.ts'

/** What `sqliteStore` takes. */
export type SqliteStoreOptions = StoreOptions & {
  /** The file; its folder must exist. Several processes may use the same one, on a local disk. */
  readonly path: string
  /** How long a call waits for other processes before `StoreBusyError`. Default: 30,000. */
  readonly busyTimeoutMs?: number
}

/** A store in one SQLite file. The file is opened, and brought to the current schema, by the first call. */
export function sqliteStore(options: SqliteStoreOptions): Store {
  const { path, busyTimeoutMs = 30_000 } = options
  const logger = safeLogger(options.logger)
  checkPath(path)
  checkDuration('busyTimeoutMs', busyTimeoutMs, 0)
  // Resolved now, because the connection may be opened again after the process has changed its folder.
  return createStore(sqliteDriver({ path: resolve(path), busyTimeoutMs, logger }), options)
}

function checkPath(path: unknown): void {
  if (typeof path !== 'string' || path === '') throw new InvalidArgumentError('path', 'must name a file')
  if (path.includes('\0')) throw new InvalidArgumentError('path', 'has a NUL character')
  if (path.includes(':memory:')) {
    throw new InvalidArgumentError('path', `is '${path}', which is not a file; for a store in memory use memoryStore()`)
  }
}
