import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { silentLogger } from '../../../../src/base/logger.ts'
import { postgresStore } from '../../../../src/store/postgres/index.ts'
import { sqliteStore } from '../../../../src/store/sqlite/index.ts'
import type { Finding } from '../../../faults/harness/verdict.ts'
import { startPostgres } from '../../../setup/start-postgres.ts'
import { type MemoryOptions, memory } from '../memory.ts'

type Sizes = Omit<MemoryOptions, 'place' | 'store'>

export async function largeInSqlite(sizes: Sizes): Promise<Finding> {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-memory-'))
  try {
    const place = join(folder, 'agents.db')
    return await memory({ ...sizes, place, store: sqliteStore({ path: place, logger: silentLogger }) })
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** With a Postgres of its own. */
export async function largeInPostgres(sizes: Sizes): Promise<Finding> {
  const server = await startPostgres()
  try {
    return await largeInPostgresAt(server.url, sizes)
  } finally {
    await server.destroy()
  }
}

/** With a database that is there. */
export async function largeInPostgresAt(place: string, sizes: Sizes): Promise<Finding> {
  return memory({ ...sizes, place, store: postgresStore({ connectionString: place, logger: silentLogger }) })
}
