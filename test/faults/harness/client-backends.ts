import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Target } from './target.ts'

const patienceMs = 20_000

/** Waits until the server has let go of every connection to the database: until then, what a killed client sent may still be written. */
export async function untilNobodyIsConnected(target: Target): Promise<void> {
  if (target.store !== 'postgres') return
  const client = new pg.Client(target.url)
  await client.connect()
  try {
    const until = Date.now() + patienceMs
    const others = `SELECT state, wait_event, backend_start, state_change, query FROM pg_stat_activity
      WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()`
    for (;;) {
      const { rows } = await client.query(others)
      if (rows.length === 0) return
      if (Date.now() > until)
        throw new Error(`connections were still open after ${patienceMs} ms: ${JSON.stringify(rows)}`)
      await sleep(5)
    }
  } finally {
    await client.end()
  }
}
