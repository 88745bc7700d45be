import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freshDatabase } from '../../setup/fresh-database.ts'
import { startPostgres } from '../../setup/start-postgres.ts'
import type { StoreName, Target } from './target.ts'

/** Where the programs find a Postgres; without `postgresUrl` they start their own. */
export type Place = { readonly store: StoreName; readonly postgresUrl?: string }

/** Lends a new, empty store's place, and removes it afterwards. */
export async function withTarget<T>(place: Place, use: (target: Target) => Promise<T>): Promise<T> {
  if (place.store === 'sqlite')
    return withFolder(async (folder) => use({ store: 'sqlite', path: join(folder, 'log.db') }))
  if (place.postgresUrl) return use({ store: 'postgres', url: await freshDatabase(place.postgresUrl) })
  const server = await startPostgres()
  try {
    return await use({ store: 'postgres', url: await freshDatabase(server.url) })
  } finally {
    await server.destroy()
  }
}

export async function withFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-faults-'))
  try {
    return await use(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
