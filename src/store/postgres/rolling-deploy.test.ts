import pg from 'pg'
import { afterEach, beforeEach, expect, inject, test } from 'vitest'
import { freshDatabase } from '../../../test/setup/fresh-database.ts'
import { silentLogger } from '../../base/logger.ts'
import { userMsg } from '../../testing/conformance/event-builders.ts'
import type { Change } from '../change.ts'
import { prepareChange } from '../prepare-change.ts'
import { nowMs } from './columns.ts'
import { commitQuery } from './commit-query.ts'
import { migrate, migrations } from './migrate.ts'
import { postgresStore } from './postgres-store.ts'

const schema = '"perdure"'
let connectionString: string
let pool: pg.Pool
let earlier: pg.Client

/** The number of migrations of the version before. */
const earlierVersion = migrations.length - 1

/** What today's function writes to columns that this version did not have yet, and what it wrote instead. */
const laterColumns: readonly [string, string][] = [
  ['idle_seq = coalesce(x.idle_seq, c.idle_seq),', ''],
  ['resolved_at, resolved_seq, meta, notice)', 'resolved_at, resolved_seq)'],
  ['END, NULL, w.meta, w.notice', 'END, NULL'],
  [',\n            meta = coalesce(excluded.meta, t.meta), notice = excluded.notice', ''],
]

function asEarlier(script: string): string {
  return laterColumns.reduce((text, [later, earlier]) => text.replace(later, earlier), script)
}

beforeEach(async () => {
  connectionString = await freshDatabase(inject('postgresUrl'))
  pool = new pg.Pool({ connectionString, max: 1 })
  await pool.query(
    `CREATE SCHEMA ${schema}; CREATE TABLE ${schema}.migrations (number integer PRIMARY KEY, applied_at bigint NOT NULL)`,
  )
  for (const [index, script] of migrations.slice(0, earlierVersion).entries()) {
    await pool.query(asEarlier(script(schema)))
    await pool.query(`INSERT INTO ${schema}.migrations VALUES ($1, 0)`, [index + 1])
  }
  earlier = new pg.Client(connectionString)
  await earlier.connect()
})

afterEach(async () => {
  await earlier.end()
  await pool.end()
})

test.each<[string, number, (id: string) => Change]>([
  ['events alone', 21, () => ({ events: [{ type: 'seeded', content: { state: 'on' } }] })],
  ['a call', 52, (id) => ({ events: [], calls: [{ id }] })],
])(
  'a node of the previous version keeps using its prepared statements while the function is replaced: %s',
  async (name, count, changeFor) => {
    const commit = async (callId: string) => {
      const change = prepareChange(changeFor(callId), { creates: true })
      const { values } = commitQuery(schema, [{ tenant: 'default', id: name, change }], false)
      // As that version sends them: by their places, and none of what came later.
      expect(values).toHaveLength(count)
      const places = values.map((_, index) => `$${index + 1}`).join(', ')
      const text = `SELECT change, outcome, seq, at, call_id, round FROM ${schema}.commit_changes(${places})`
      const { rows } = await earlier.query({ name: `commit_${count}`, text, values })
      expect(rows).toMatchObject([{ outcome: 'ok' }])
    }
    await commit(`${name}-before`)
    await migrate(pool, { schema: 'perdure', answerTimeoutMs: 20_000, migrateTimeoutMs: 60_000 })
    await commit(`${name}-after`)
  },
)

test('a repeat does not return a lease that a node of the previous version took with a key, but keeps it under its name', async () => {
  await migrate(pool, { schema: 'perdure', answerTimeoutMs: 20_000, migrateTimeoutMs: 60_000 })
  const store = postgresStore({ connectionString, logger: silentLogger })
  const change = { events: [userMsg()], key: 'once', acquire: { holder: 'one', ttlMs: 60_000 } }
  const first = await store.commit('chat', change)
  if (!first.ok) throw new Error(`refused: ${first.conflict}`)
  // As that version writes it.
  await earlier.query(`UPDATE ${schema}.commit_keys SET epoch = NULL`)
  expect(await store.commit('chat', change)).toEqual({ ok: true, seq: 1 })
  const strays = [{ tenant: 'default', id: 'chat', epoch: first.epoch }]
  expect(await store.keepLeases('one', 60_000, [])).toMatchObject({ strays })
  await store.close()
})

test('a node of the previous version does not take a quarantined conversation, and what it releases has no lapses', async () => {
  await migrate(pool, { schema: 'perdure', answerTimeoutMs: 20_000, migrateTimeoutMs: 60_000 })
  const store = postgresStore({ connectionString, logger: silentLogger })
  const lapse = async (id: string, times: number): Promise<void> => {
    await store.commit(id, { events: [userMsg()], conversation: { agent: 'worker' } })
    for (let time = 0; time < times; time++) {
      await store.acquireLease(id, `dead-${time}`, 1)
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }
  // As that version takes, finds and gives back.
  const acquire = async (id: string): Promise<number | undefined> => {
    const { rows } = await earlier.query(
      `UPDATE ${schema}.conversations SET holder = 'earlier', epoch = nextval('${schema}.epochs'), leased_until = ${nowMs} + 60000
       WHERE tenant = 'default' AND id = $1 AND (epoch IS NULL OR holder = 'earlier' OR leased_until <= ${nowMs}) RETURNING epoch`,
      [id],
    )
    return rows[0]?.epoch
  }
  const due = async (): Promise<string[]> => {
    const { rows } = await earlier.query<{ id: string }>(
      `SELECT id FROM ${schema}.conversations WHERE wake_at <= (SELECT ${nowMs}) AND agent = ANY ($1::text[])
       AND (epoch IS NULL OR leased_until <= ${nowMs}) ORDER BY wake_at LIMIT 10`,
      [['worker']],
    )
    return rows.map(({ id }) => id)
  }
  await lapse('poison', 5)
  await lapse('innocent', 2)
  expect(await due()).toEqual(['poison', 'innocent'])
  expect(await store.claimLease('poison', 'new', 60_000)).toEqual({ type: 'quarantined' })
  expect(await due()).toEqual(['innocent'])
  expect(await acquire('poison')).toBe(undefined)
  const epoch = await acquire('innocent')
  await earlier.query(
    `UPDATE ${schema}.conversations SET holder = NULL, epoch = NULL, leased_until = NULL WHERE id = 'innocent' AND epoch = $1`,
    [epoch],
  )
  expect(await store.claimLease('innocent', 'new', 60_000)).toMatchObject({ type: 'taken', lapses: 0 })
  await store.close()
})
