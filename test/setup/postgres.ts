import type { TestProject } from 'vitest/node'
import { chosenStores } from './chosen-stores.ts'
import { startPostgres } from './start-postgres.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** A real Postgres for this run, if `STORES` has it. Use `freshDatabase` where tests must not meet. */
    postgresUrl: string
  }
}

/** Tests of power failures and server crashes start their own server. The data of this one is thrown away, so it does not sync. */
const settings = { fsync: 'off', full_page_writes: 'off' }

export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  if (!chosenStores().includes('postgres')) return undefined
  const server = await startPostgres({ settings })
  project.provide('postgresUrl', server.url)
  return () => server.destroy()
}
