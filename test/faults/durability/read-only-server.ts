import pg from 'pg'
import type { Finding } from '../harness/verdict.ts'
import { type Place, withTarget } from '../harness/with-target.ts'
import { endure } from './endure.ts'

/** The database takes no writes for a while, as a server does that has become a standby. */
export async function readOnlyServer(
  place: Place,
  { seed, times }: { readonly seed: number; readonly times: number },
): Promise<Finding> {
  return withTarget(place, async (target) => {
    if (target.store !== 'postgres') throw new Error('only Postgres has a server')
    const setReadOnly = (isReadOnly: boolean): Promise<void> => reconnectEverybody(target.url, isReadOnly)
    const fault = { begin: () => setReadOnly(true), end: () => setReadOnly(false) }
    const input = { seed, prefix: 'standby', lanes: 4, padBytes: 100 }
    const { violations, met, counts } = await endure(fault, { target, input, times })
    const missing = met < times ? [`writes failed only ${met} of ${times} times`] : []
    return { violations, notExercised: missing, counts: { times: met, ...counts } }
  })
}

/** Sets the default, and ends the connections that were made under the old one. */
async function reconnectEverybody(url: string, isReadOnly: boolean): Promise<void> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    await client.query('SET default_transaction_read_only = off')
    const name = new URL(url).pathname.slice(1)
    await client.query(`ALTER DATABASE ${name} SET default_transaction_read_only = ${isReadOnly ? 'on' : 'off'}`)
    await client.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    )
  } finally {
    await client.end()
  }
}
