/**
 * `npm run langgraph`: packs this package, installs it beside LangGraph in a folder of its own, and runs LangGraph's validation of checkpoint savers on a memory,
 * a SQLite and a Postgres store, then graphs that are interrupted, forked and killed. LangGraph's suite brings another vitest, so it cannot share ours.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { packPerdure, removeFolder, withDependencies } from '../product/app-copy.ts'
import { startPostgres } from '../setup/start-postgres.ts'

const packed = await mkdtemp(join(tmpdir(), 'perdure-packed-'))
const app = await mkdtemp(join(tmpdir(), 'perdure-langgraph-'))
await cp(join(import.meta.dirname, 'app'), app, { recursive: true })
await withDependencies(app, await packPerdure(packed))
const postgres = await startPostgres()
const child = spawn(
  process.execPath,
  [join(app, 'node_modules', 'vitest', 'vitest.mjs'), 'run', ...process.argv.slice(2)],
  {
    cwd: app,
    stdio: 'inherit',
    env: { ...process.env, DATABASE_URL: postgres.url },
  },
)
const [code] = await once(child, 'exit')
await postgres.destroy()
await removeFolder(app)
await removeFolder(packed)
process.exitCode = code ?? 1
