import { InvalidArgumentError } from '../../errors/store-errors.ts'
import { consoleLogger } from '../../logger/logger.ts'
import { checkWhole } from '../../store/checks.ts'
import { createStore, type StoreOptions } from '../../store/create-store.ts'
import type { Store } from '../../store/store.ts'
import { postgresDriver } from './postgres-driver.ts'
import { checkSchemaName } from './schema-name.ts'

/** What `postgresStore` takes. */
export type PostgresStoreOptions = StoreOptions & {
  /** As in `postgres://user:password@host:5432/database`. */
  readonly connectionString: string
  /** Where the tables live; made on first use. Default: 'perdure'. */
  readonly schema?: string
  /** Connections in the pool; hints between processes use one more. Default: 10. */
  readonly max?: number
}

/** A store on a Postgres database, for one process or a fleet. Connects when first used; tables are made and migrated then. */
export function postgresStore({ connectionString, schema, max, ...options }: PostgresStoreOptions): Store {
  if (typeof connectionString !== 'string' || connectionString === '') {
    throw new InvalidArgumentError('connectionString', 'must be a connection string like postgres://user@host/database')
  }
  const name = schema ?? 'perdure'
  checkSchemaName(name)
  checkWhole('max', max ?? 10, 1)
  const logger = options.logger ?? consoleLogger
  return createStore(postgresDriver({ connectionString, schema: name, max: max ?? 10, logger }), options)
}
