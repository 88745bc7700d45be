import pg from 'pg'
import { expect, inject, test } from 'vitest'
import { freshDatabase } from '../../../test/setup/fresh-database.ts'
import { titled } from '../../testing/conformance/event-builders.ts'
import { postgresStore } from './postgres-store.ts'

test('a line whose last delivery ends while a commit adds to it keeps what the commit adds', async () => {
  const connectionString = await freshDatabase(inject('postgresUrl'))
  const store = postgresStore({ connectionString })
  const other = new pg.Client(connectionString)
  await other.connect()
  try {
    const outbox = store.outbox!
    await outbox.register([{ name: 'titles', types: ['titled'], agent: null }])
    await store.appendEvent('chat', titled('one'))
    const request = { subscribers: ['titles'], limit: 10, leaseMs: 60_000, lapsed: false }
    const [first] = await outbox.claim(request)

    await other.query('BEGIN')
    await other.query(
      'INSERT INTO perdure.events SELECT tenant, conversation_id, 2, at, type, content FROM perdure.events',
    )
    const settling = outbox.settle(first!, { type: 'delivered' })
    // It waits for the commit; where it did not, it would be settled soon.
    let isSettled = false
    void settling.then(() => (isSettled = true))
    while (!isSettled && (await waiting(other)) === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    await other.query('COMMIT')
    await settling
    expect(await outbox.claim(request)).toMatchObject([{ conversationId: 'chat', seq: 2 }])
  } finally {
    await other.end()
    await store.close()
  }
})

/** How many transactions of the database wait for a lock. */
async function waiting(client: pg.Client): Promise<number> {
  const sql =
    "SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
  return (await client.query<{ n: number }>(sql)).rows[0]!.n
}
