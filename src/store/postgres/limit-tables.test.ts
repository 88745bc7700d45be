import pg from 'pg'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { freshDatabase } from '../../../test/setup/fresh-database.ts'
import { silentLogger } from '../../base/logger.ts'
import type { DueLimits } from '../slots.ts'
import type { Store } from '../store.ts'
import { postgresStore } from './index.ts'

const opened: (Store | pg.Client)[] = []
async function connected(connectionString: string): Promise<pg.Client> {
  const client = new pg.Client(connectionString)
  await client.connect()
  opened.push(client)
  return client
}

let store: Store
let client: pg.Client
beforeAll(async () => {
  const connectionString = await freshDatabase(inject('postgresUrl'))
  store = postgresStore({ connectionString, logger: silentLogger })
  opened.push(store)
  await store.getConversation('none')
  client = await connected(connectionString)
})
afterAll(async () => {
  for (const one of opened) await ('end' in one ? one.end() : one.close())
})

/** `count` conversations with a wake-up at `wakeAt`: all of `tenant`, or one of each of as many tenants whose names begin so. */
async function insert(tenant: string, count: number, wakeAt: number, isSpread = false): Promise<void> {
  await client.query(
    `INSERT INTO perdure.conversations (tenant, id, agent, status, created_at, updated_at, wake_at)
     SELECT $1 || CASE WHEN $4 THEN lpad(n::text, 6, '0') ELSE '' END, 'c' || n, 'support', 'active', 1, 1, $3 FROM generate_series(1, $2::integer) n`,
    [tenant, count, wakeAt, isSpread],
  )
}

const claim = { holder: 'one', ttlMs: 60_000, agents: ['support'], limit: 4 }
const later = 4e12
const limits: DueLimits = { tenant: 2, agents: new Map([['support', { agent: 9 }]]) }

test('behind more tenants than one search goes over, others are found, also where each has a limit of its own', async () => {
  await insert('asleep', 5_050, later, true)
  for (const [n, given] of [undefined, limits, { ...limits, tenant: () => 1 }].entries()) {
    await insert(`z${n}`, 1, 1)
    const found = await store.claimDue({ ...claim, ...(given && { limits: given }) })
    expect(found.map(({ tenant }) => tenant)).toEqual([`z${n}`])
  }
  await client.query('TRUNCATE perdure.conversations')
})

test('instead of what another claim is taking the next is taken, also of what has lapses', async () => {
  await insert('acme', 6, 1)
  await client.query(
    `UPDATE perdure.conversations SET holder = 'dead', epoch = 1, leased_until = 10, claimed_at = 5 WHERE id IN ('c1', 'c2', 'c3')`,
  )
  const locked = (...ids: string[]) =>
    client.query('SELECT FROM perdure.conversations WHERE id = ANY ($1) FOR UPDATE', [ids])
  await client.query('BEGIN')
  await locked('c1', 'c2', 'c4', 'c5')
  const found = await store.claimDue({ ...claim, limit: 2, suspects: 1 })
  expect(found.map(({ id }) => id)).toEqual(['c3', 'c6'])
  await client.query('ROLLBACK')
  await client.query('TRUNCATE perdure.conversations')
})

test('a search reads a bounded part of a long queue, under limits and of a paused tenant or agent', async () => {
  await insert('acme', 3_000, 1)
  await insert('beta', 1, 2)
  const rowsRead = async (isLimited: boolean): Promise<[ids: number, rows: number]> => {
    await client.query('BEGIN')
    const given = isLimited ? `'{"support":{"turns":9}}', 2` : 'NULL, NULL'
    const { rowCount } = await client.query(
      `SELECT * FROM perdure.fair_due('{support,sales}', 4, 4, 1, '{}', NULL, ${given}, NULL)`,
    )
    const { rows } = await client.query<{ n: string }>(
      "SELECT idx_tup_fetch + seq_tup_read AS n FROM pg_stat_xact_user_tables WHERE schemaname = 'perdure' AND relname = 'conversations'",
    )
    await client.query('ROLLBACK')
    return [rowCount ?? 0, Number(rows[0]!.n)]
  }
  const by = { who: 'ops/ada' }
  const cases = [
    [null, 4, 3],
    [{ tenant: 'acme' }, 1, 1],
    [{ agent: 'support' }, 0, 0],
  ] as const
  for (const [target, found, foundLimited] of cases) {
    if (target) await store.steering!.pause(target, by)
    for (const isLimited of [false, true]) {
      const [ids, rows] = await rowsRead(isLimited)
      expect([target, isLimited, ids]).toEqual([target, isLimited, isLimited ? foundLimited : found])
      expect([target, isLimited, rows < 100 || rows]).toEqual([target, isLimited, true])
    }
    if (target) await store.steering!.resume(target, by)
  }
})
