import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { expect, inject, test } from 'vitest'
import { silentLogger } from '../../src/base/logger.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { giveBackSchema, takeSchema } from './spare-schemas.ts'

test('a schema that was given back is like a new one (postgres)', async () => {
  const schema = `given_back_${randomUUID().replaceAll('-', '')}`
  const store = postgresStore({ connectionString: inject('postgresUrl'), schema, logger: silentLogger })
  await store.listConversations()
  const whenNew = await contentsOf(schema)
  const agent = defineAgent({ name: 'helper', model: scriptedModel(['hello']) })
  const runtime = createRuntime({ agents: [agent], store, logger: silentLogger })
  const turn = await runtime.conversation('one', { agent: 'helper' }).send('hi')
  await turn.outcome()
  await runtime.close()
  await store.close()
  expect(await contentsOf(schema)).not.toEqual(whenNew)

  await giveBackSchema(schema)
  expect(await contentsOf(schema)).toEqual(whenNew)
  expect(takeSchema()).toBe(schema)
  expect(takeSchema()).not.toBe(schema)
})

test('a schema that no store has made is not kept (postgres)', async () => {
  const schema = `never_made_${randomUUID().replaceAll('-', '')}`
  await giveBackSchema(schema)
  expect(takeSchema()).not.toBe(schema)
})

async function contentsOf(schema: string): Promise<Record<string, string>> {
  const client = new pg.Client(inject('postgresUrl'))
  await client.connect()
  try {
    const { rows } = await client.query<{ text: string }>(`
      SELECT format('SELECT %L AS name, count(*) FROM %I.%I', tablename, schemaname, tablename) AS text
        FROM pg_tables WHERE schemaname = '${schema}'
      UNION ALL
      SELECT format('SELECT %L AS name, last_value FROM %I.%I', sequencename, schemaname, sequencename)
        FROM pg_sequences WHERE schemaname = '${schema}'`)
    const counted = await client.query<{ name: string; count: string }>(
      rows.map(({ text }) => text).join(' UNION ALL '),
    )
    return Object.fromEntries(counted.rows.map(({ name, count }) => [name, count]))
  } finally {
    await client.end()
  }
}
