import pg from 'pg'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { freshDatabase } from '../../../test/setup/fresh-database.ts'
import { silentLogger } from '../../base/logger.ts'
import type { Store } from '../store.ts'
import { postgresStore } from './index.ts'

let store: Store
let client: pg.Client
beforeAll(async () => {
  const connectionString = await freshDatabase(inject('postgresUrl'))
  store = postgresStore({ connectionString, logger: silentLogger })
  await store.getConversation('none')
  client = new pg.Client(connectionString)
  await client.connect()
})
afterAll(async () => {
  await client.end()
  await store.close()
})

test('a pause waits for what holds the rows for longer than its first tries, as an automatic vacuum does', async () => {
  await client.query('BEGIN; LOCK TABLE perdure.conversations IN SHARE UPDATE EXCLUSIVE MODE')
  const pausing = store.steering!.pause({ tenant: 'acme' }, { who: 'ann' })
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  await client.query('COMMIT')
  expect(await pausing).toMatchObject({ target: { tenant: 'acme' }, who: 'ann' })
})
