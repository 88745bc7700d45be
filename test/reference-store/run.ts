import { parseArgs } from 'node:util'
import { freshDatabase } from '../setup/fresh-database.ts'
import { startPostgres } from '../setup/start-postgres.ts'
import { type Backend, memoryBackend, postgresBackend, type StoreName, sqliteBackend } from './backends.ts'
import { checkStore } from './check-store.ts'
import { Tally } from './tally.ts'

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
const tally = new Tally()
let isDone = false
// With nothing left to wait for, Node ends in the middle of an await that never comes back.
process.once('exit', () => {
  if (!isDone) console.log(JSON.stringify({ ok: false, store, seed, neverEnded: tally.current }))
})
const { open, destroy } = await prepare(store)
try {
  await checkStore(open, { operations, seed }, tally)
  const { commands, methods, current: _, ...counts } = tally
  const report = { ...counts, methods: methods.size, commands: Object.fromEntries(commands) }
  console.log(JSON.stringify({ ok: true, store, seed, seconds: secondsSince(startedAt), ...report }))
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  console.log(JSON.stringify({ ok: false, store, seed, seconds: secondsSince(startedAt) }))
  process.exitCode = 1
} finally {
  isDone = true
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
