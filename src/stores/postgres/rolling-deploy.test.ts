import pg from 'pg'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { freshDatabase } from '../../../test/setup/fresh-database.ts'
import type { Change } from '../../store/change.ts'
import { prepareChange } from '../../store/prepare-change.ts'
import { commitQuery } from './commit-query.ts'
import { migrate } from './migrate.ts'
import { expectAgents } from './migrations/006-expect-agents.ts'

const schema = '"perdure"'
let pool: pg.Pool
let earlier: pg.Client

beforeAll(async () => {
  const connectionString = await freshDatabase(inject('postgresUrl'))
  pool = new pg.Pool({ connectionString, max: 1 })
  await migrate(pool, { schema: 'perdure', answerTimeoutMs: 20_000, migrateTimeoutMs: 60_000 })
  earlier = new pg.Client(connectionString)
  await earlier.connect()
})

afterAll(async () => {
  await earlier.end()
  await pool.end()
})

test.each<[string, number, (id: string) => Change]>([
  ['events alone', 21, () => ({ events: [{ type: 'titled', content: { title: 'on' } }] })],
  ['a call', 52, (id) => ({ events: [], calls: [{ id }] })],
])(
  'a node of the version before goes on with what it has prepared while the function is replaced: %s',
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
    await pool.query(expectAgents(schema))
    await commit(`${name}-after`)
  },
)
