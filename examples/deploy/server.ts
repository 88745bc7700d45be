/** A service of agents: SQLite on a volume, or Postgres where DATABASE_URL is set. Stopped with SIGTERM, it lets go of its work first. */
import { createRuntime, createScope, defineAgent } from 'perdure'
import { postgresStore } from 'perdure/postgres'
import { bearerToken, isSameSecret, requireSecret, serve } from 'perdure/server'
import { sqliteStore } from 'perdure/sqlite'
import { scriptedModel } from 'perdure/testing'

const { DATABASE_URL, API_TOKEN, SECRET, PERDURE_DB = 'agents.db', PORT = '8080', HOST = '0.0.0.0', SITE } = process.env
const apiToken = API_TOKEN ?? ''
requireSecret('API_TOKEN', apiToken)
// Several nodes must share it: what one has signed, such as the address of a file, another is asked for.
if (DATABASE_URL) requireSecret('SECRET', SECRET)

// Replace it with any AI SDK model.
const model = scriptedModel(() => 'Hello from a container.')
const helper = defineAgent({ name: 'helper', model })

const store = DATABASE_URL ? postgresStore({ connectionString: DATABASE_URL }) : sqliteStore({ path: PERDURE_DB })
const runtime = createRuntime({ agents: [helper], store, ...(SECRET ? { secret: SECRET } : {}) })
const server = await serve(runtime, {
  host: HOST,
  port: Number(PORT),
  // The health check asks 127.0.0.1; everything else comes by the name of your site.
  allowedHosts: ['127.0.0.1', 'localhost', ...(SITE ? [SITE] : [])],
  authenticate(request) {
    const given = bearerToken(request)
    return given !== null && isSameSecret(given, apiToken) ? createScope({ user: 'api' }) : null
  },
})
console.log(`listening on ${server.port}`)

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, async () => {
    await server.close()
    await runtime.close()
    await store.close()
  })
}
