import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { StoreMissingError } from '../../base/errors/cli-errors.ts'
import type { Logger } from '../../base/logger.ts'
import { makeFolder } from '../../server/node/make-folder.ts'
import type { Store } from '../../store/store.ts'
import type { LoadedConfig } from '../load-config.ts'
import { unlessUnwritable } from '../unless-unwritable.ts'
import { chooseStore, isPostgres } from './choose-store.ts'
import type { StoreArgs } from './target-args.ts'

export type OpenedStore = {
  readonly store: Store
  /** For people, without credentials. */
  readonly place: string
  readonly loaded: LoadedConfig | null
}

export type OpenStoreOptions = {
  readonly logger?: Logger
  /** Make the file where there is none: for commands that write. Looking must not. Default: false. */
  readonly create?: boolean
  /** False: opening it ends no call whose deadline has passed, and migrates nothing by itself. Default: true. */
  readonly expiry?: boolean
}

/** Opens the store that the arguments, the config or the surroundings name. Whoever opens it closes it. */
export async function openStore(
  args: StoreArgs,
  { logger, create = false, expiry = true }: OpenStoreOptions = {},
): Promise<OpenedStore> {
  const { location, loaded } = await chooseStore(args)
  const options = { expiry, ...(logger ? { logger } : {}) }
  if (location === null) {
    const store = loaded!.config.store as Store
    return { store, place: `the store of ${loaded!.file}`, loaded }
  }
  if (isPostgres(location)) {
    const { postgresStore } = await import('../../store/postgres/postgres-store.ts')
    return {
      store: postgresStore({ connectionString: location, ...options }),
      place: withoutPassword(location),
      loaded,
    }
  }
  if (!existsSync(location)) {
    if (!create) throw new StoreMissingError(`There is no store at '${location}'`, advice(loaded))
    const folder = dirname(location)
    await unlessUnwritable(folder, 'name another place for the store', () => makeFolder(folder))
  }
  const { sqliteStore } = await import('../../store/sqlite/sqlite-store.ts')
  return { store: sqliteStore({ path: location, ...options }), place: location, loaded }
}

function advice(loaded: LoadedConfig | null): string {
  return loaded ? 'Run: perdure serve, which makes it' : 'Check the path; a program that uses the store makes it'
}

function withoutPassword(connectionString: string): string {
  try {
    const url = new URL(connectionString)
    return `${url.protocol}//${url.host}${url.pathname}`
  } catch {
    return 'Postgres'
  }
}
