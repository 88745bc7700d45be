import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { StoreMissingError } from '../../base/errors/cli-errors.ts'
import { findConfig, type LoadedConfig, loadConfig } from '../load-config.ts'
import type { StoreArgs } from './target-args.ts'

/** Which store a command means, and the config where one has a say. */
export type StoreChoice = {
  /** A path or a connection string; null: the store that the config made. */
  readonly location: string | null
  readonly loaded: LoadedConfig | null
}

type Surroundings = { readonly cwd: string; readonly env: NodeJS.ProcessEnv }

/**
 * In this order: `--store`, the config, PERDURE_STORE, `.perdure/perdure.db`. A config that was found and not named has no say where `--store`
 * is given: a store must be readable whatever state the project is in.
 */
export async function chooseStore(
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
    'Nothing says which store is meant: there is no perdure.config.ts here or above, and no .perdure/perdure.db',
    'Pass --store <path or postgres://…> or --url, or run: perdure init',
  )
}

export function isPostgres(location: string): boolean {
  return /^postgres(ql)?:\/\//.test(location)
}

function located(location: string, folder: string): string {
  return isPostgres(location) ? location : resolve(folder, location.replace(/^file:(\/\/)?/, ''))
}
