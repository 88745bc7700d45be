import { freshDatabase } from '../../setup/fresh-database.ts'
import { startPostgres } from '../../setup/start-postgres.ts'
import type { Finding } from '../harness/verdict.ts'
import { endure } from './endure.ts'
import { unsyncedByDefault } from './unsynced-server.ts'

export type CrashStopOptions = { readonly seed: number; readonly times: number }

/** The server dies under load without flushing anything, and recovers. Its own default would lose the last seconds. */
export async function crashStop({ seed, times }: CrashStopOptions): Promise<Finding> {
  const server = await startPostgres({ settings: unsyncedByDefault })
  try {
    const target = { store: 'postgres', url: await freshDatabase(server.url) } as const
    const input = { seed, prefix: 'crash', lanes: 8, padBytes: 500 }
    const crash = { begin: () => server.stop('immediate'), end: () => server.restart() }
    const { violations, met, counts } = await endure(crash, { target, input, times, answersBefore: 200 })
    const missing = met < times ? [`the server was missed only ${met} of ${times} times`] : []
    return { violations, notExercised: missing, counts: { crashes: met, ...counts } }
  } finally {
    await server.destroy()
  }
}
