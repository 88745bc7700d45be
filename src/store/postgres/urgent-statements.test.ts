import pg from 'pg'
import { afterEach, expect, inject, test } from 'vitest'
import { freshDatabase } from '../../../test/setup/fresh-database.ts'
import { silentLogger } from '../../base/logger.ts'
import { userMsg } from '../../testing/conformance/event-builders.ts'
import type { Store } from '../store.ts'
import { postgresStore } from './postgres-store.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

test('leases are renewed while all that is left of the pool is in use', async () => {
  const connectionString = await freshDatabase(inject('postgresUrl'))
  const store: Store = postgresStore({ connectionString, max: 3, logger: silentLogger })
  closing.push(() => store.close())
  for (const id of ['held', 'locked']) await store.appendEvent(id, userMsg())
  const { epoch } = (await store.acquireLease('held', 'one', 60_000))!

  // A claim of this one waits, and so do all later ones.
  const locker = new pg.Client(connectionString)
  await locker.connect()
  closing.push(() => locker.end())
  await locker.query("BEGIN; SELECT 1 FROM perdure.conversations WHERE id = 'locked' FOR UPDATE")
  const stuck = Array.from({ length: 8 }, (_, n) => store.acquireLease('locked', `holder-${n}`, 60_000))

  const known = [{ tenant: 'default', id: 'held', epoch, seq: 1 }]
  expect(await store.keepLeases('one', 60_000, known)).toEqual({ lost: [], grown: [], strays: [] })
  await locker.query('COMMIT')
  expect((await Promise.all(stuck)).filter((lease) => lease !== null)).toHaveLength(1)
})
