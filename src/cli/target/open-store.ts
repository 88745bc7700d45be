import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { StoreMissingError } from '../../base/errors/cli-errors.ts'
import type { Logger } from '../../base/logger.ts'
import { makeFolder } from '../../server/node/local-token.ts'
import type { Store } from '../../store/store.ts'
import { findConfig, type LoadedConfig, loadConfig } from '../load-config.ts'
import { unlessUnwritable } from '../output.ts'
import type { StoreArgs } from './target-args.ts'

export type OpenedStore = {
  readonly store: Store
  /** Shown to people: has no credentials in it. */
  readonly place: string
  readonly loaded: LoadedConfig | null
}

export type OpenStoreOptions = {
  readonly logger?: Logger
  /** Creates a missing file; 'with_config': only if a config counts, whose agents can write to it. Commands that only read must not. Default: false. */
  readonly create?: boolean | 'with_config'
  /** False: an open store neither expires calls nor migrates by itself. Default: true. */
  readonly expiry?: boolean
}

/** Opens the store that the arguments, the config or the environment name. The caller closes it. */
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
    const mayCreate = create === 'with_config' ? loaded !== null : create
    if (!mayCreate) throw new StoreMissingError(`There is no store at '${location}'`, advice(loaded, create))
    const folder = dirname(location)
    await unlessUnwritable(folder, 'name another place for the store', () => makeFolder(folder))
  }
  const { sqliteStore } = await import('../../store/sqlite/sqlite-store.ts')
  return { store: sqliteStore({ path: location, ...options }), place: location, loaded }
}

function advice(loaded: LoadedConfig | null, create: OpenStoreOptions['create']): string {
  if (create === 'with_config') return 'Check the path, or name the config of its agents with --config'
  return loaded ? 'Run: perdure serve, which creates it' : 'Check the path; a program that uses the store creates it'
}

function withoutPassword(connectionString: string): string {
  try {
    const url = new URL(connectionString)
    return `${url.protocol}//${url.host}${url.pathname}`
  } catch {
    return 'Postgres'
  }
}

/** The store of a command, and the config if one counts. */
type StoreChoice = {
  /** A path or a connection string; null: the config's own store object. */
  readonly location: string | null
  readonly loaded: LoadedConfig | null
}

type Surroundings = { readonly cwd: string; readonly env: NodeJS.ProcessEnv }

/**
 * In this order: `--store`, the config, PERDURE_STORE, `.perdure/perdure.db`. With `--store`, a config counts only if `--config` names it: a store must
 * be readable even if the project's config is broken.
 */
async function chooseStore(
  args: StoreArgs,
  { cwd, env }: Surroundings = { cwd: process.cwd(), env: process.env },
): Promise<StoreChoice> {
  const named = args.config ? await loadConfig(resolve(cwd, args.config)) : null
  if (args.store) return { location: located(args.store, cwd), loaded: named }
  const file = named ? null : findConfig(cwd)
  const loaded = file === null ? named : await loadConfig(file)
  if (loaded) {
    const { store } = loaded.config
    return { location: typeof store === 'string' ? located(store, join(loaded.file, '..')) : null, loaded }
  }
  if (env['PERDURE_STORE']) return { location: located(env['PERDURE_STORE'], cwd), loaded: null }
  const usual = join(cwd, '.perdure', 'perdure.db')
  if (existsSync(usual)) return { location: usual, loaded: null }
  throw new StoreMissingError(
    'No store is named: there is no perdure.config.ts here or above, and no .perdure/perdure.db',
    'Pass --store <path or postgres://…> or --url, or run: perdure init',
  )
}

function isPostgres(location: string): boolean {
  return /^postgres(ql)?:\/\//.test(location)
}

function located(location: string, folder: string): string {
  return isPostgres(location) ? location : resolve(folder, location.replace(/^file:(\/\/)?/, ''))
}
