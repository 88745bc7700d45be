import pg from 'pg'
import { expect, inject, test } from 'vitest'
import { silentLogger } from '../../src/base/logger.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import { createStore } from '../../src/store/create-store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { PostgresSchema } from './postgres-schema.ts'

test('a schema that was given back is like a new one (postgres)', async () => {
  const schema = new PostgresSchema()
  const store = createStore(schema.open(), { logger: silentLogger })
  await store.listConversations()
  const whenNew = await contentsOf(schema.name)
  const agent = defineAgent({ name: 'helper', model: scriptedModel(['hello']) })
  const runtime = createRuntime({ agents: [agent], store, logger: silentLogger })
  const turn = await runtime.conversation('one', { agent: 'helper' }).send('hi')
  await turn.outcome()
  await runtime.close()
  await store.close()
  expect(await contentsOf(schema.name)).not.toEqual(whenNew)

  await schema.giveBack()
  expect(await contentsOf(schema.name)).toEqual(whenNew)
  expect(PostgresSchema.take()).toBe(schema)
  expect(PostgresSchema.take()).not.toBe(schema)
})

test('a schema that no store has made is not kept (postgres)', async () => {
  const schema = new PostgresSchema()
  await schema.giveBack()
  expect(PostgresSchema.take()).not.toBe(schema)
})

test('stores that are open at once have connections of their own, and a later one those of a closed one (postgres)', async () => {
  const schema = PostgresSchema.take()
  const [one, other] = [schema.open(), schema.open()]
  await Promise.all([one.dueCalls(1), other.dueCalls(1)])
  const open = await connectionsOf(schema.name)
  await Promise.all([one.close(), other.close()])
  const next = schema.open()
  await next.dueCalls(1)
  expect(open.length).toBeGreaterThanOrEqual(2)
  expect(await connectionsOf(schema.name)).toEqual(open)
  await next.close()
  await schema.giveBack()
})

async function contentsOf(schema: string): Promise<Record<string, string>> {
  const statements = await ask<{ text: string }>(`
    SELECT format('SELECT %L AS name, count(*) FROM %I.%I', tablename, schemaname, tablename) AS text
      FROM pg_tables WHERE schemaname = '${schema}'
    UNION ALL
    SELECT format('SELECT %L AS name, last_value FROM %I.%I', sequencename, schemaname, sequencename)
      FROM pg_sequences WHERE schemaname = '${schema}'`)
  const counted = await ask<{ name: string; count: string }>(statements.map(({ text }) => text).join(' UNION ALL '))
  return Object.fromEntries(counted.map(({ name, count }) => [name, count]))
}

/** The processes of the server that have last worked on it. */
async function connectionsOf(schema: string): Promise<number[]> {
  const found = await ask<{ pid: number }>(
    `SELECT pid FROM pg_stat_activity WHERE query LIKE '%${schema}%' AND pid <> pg_backend_pid() ORDER BY pid`,
  )
  return found.map(({ pid }) => pid)
}

async function ask<Row extends object>(text: string): Promise<Row[]> {
  const client = new pg.Client(inject('postgresUrl'))
  await client.connect()
  try {
    return (await client.query<Row>(text)).rows
  } finally {
    await client.end()
  }
}
