import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { memoryStore } from 'perdure'
import { postgresStore } from 'perdure/postgres'
import { sqliteStore } from 'perdure/sqlite'

const folder = mkdtempSync(join(tmpdir(), 'perdure-langgraph-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
let opened = 0

/** A new, empty store of each kind. `reopen` opens the same data again, as another process does. */
export const stores = {
  memory: () => {
    const store = memoryStore()
    return { store, reopen: () => store }
  },
  sqlite: () => {
    opened += 1
    const path = join(folder, `${process.pid}-${opened}.db`)
    return { store: sqliteStore({ path }), reopen: () => sqliteStore({ path }), path }
  },
  postgres: () => {
    opened += 1
    const options = { connectionString: process.env.DATABASE_URL, schema: `saver_${process.pid}_${opened}`, max: 2 }
    return { store: postgresStore(options), reopen: () => postgresStore(options), options }
  },
}
