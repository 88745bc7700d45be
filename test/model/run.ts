import { parseArgs } from 'node:util'
import { freshDatabase } from '../setup/fresh-database.ts'
import { startPostgres } from '../setup/start-postgres.ts'
import { type Backend, memoryBackend, postgresBackend, type StoreName, sqliteBackend } from './backends.ts'
import { checkStore } from './check-store.ts'

const { values } = parseArgs({
  options: {
    store: { type: 'string', default: 'memory' },
    ops: { type: 'string', default: '50000' },
    seed: { type: 'string', default: '1' },
  },
})

const store = values.store as StoreName
const operations = Number(values.ops)
const seed = Number(values.seed)
const startedAt = Date.now()
const { open, destroy } = await prepare(store)
try {
  const tally = await checkStore(open, { operations, seed })
  const { commands, methods, ...counts } = tally
  const report = { ...counts, methods: methods.size, commands: Object.fromEntries(commands) }
  console.log(JSON.stringify({ ok: true, store, seed, seconds: secondsSince(startedAt), ...report }))
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  console.log(JSON.stringify({ ok: false, store, seed, seconds: secondsSince(startedAt) }))
  process.exitCode = 1
} finally {
  await destroy()
}

type Prepared = { open(): Backend; destroy(): Promise<void> }

async function prepare(name: StoreName): Promise<Prepared> {
  switch (name) {
    case 'memory':
      return { open: memoryBackend, destroy: async () => {} }
    case 'sqlite': {
      const backend = await sqliteBackend()
      return { open: () => backend, destroy: () => backend.destroy() }
    }
    case 'postgres': {
      const server = await startPostgres()
      const backend = postgresBackend(await freshDatabase(server.url))
      return { open: () => backend, destroy: () => server.destroy() }
    }
    default:
      throw new Error(`there is no store '${name}'; use memory, sqlite or postgres`)
  }
}

function secondsSince(start: number): number {
  return Math.round((Date.now() - start) / 100) / 10
}
