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

test('acts of before a crash, which leaves a gap in their numbers, are kept', async () => {
  const before = await store.steering!.acts({ limit: 10 })
  await store.steering!.pause({ tenant: 'before' }, { who: 'ann' })
  await client.query("SELECT setval('perdure.steering_acts_id_seq', 5000)")
  await store.steering!.resume({ tenant: 'before' }, { who: 'eve' })
  const acts = await store.steering!.acts({ limit: 10 })
  expect(acts.map(({ act, who }) => `${act} ${who}`).slice(0, 2)).toEqual(['resume eve', 'pause ann'])
  expect(acts.slice(2)).toEqual(before)
})

test('of very many acts the newest thousand are kept', async () => {
  for (let n = 0; n < 510; n += 1) {
    await store.steering!.pause({ tenant: 'many' }, { who: 'ann' })
    await store.steering!.resume({ tenant: 'many' }, { who: 'ann' })
  }
  expect((await client.query('SELECT count(*)::int AS n FROM perdure.steering_acts')).rows).toEqual([{ n: 1_000 }])
})
