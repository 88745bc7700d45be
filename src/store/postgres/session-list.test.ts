import { expect, inject, test } from 'vitest'
import { rowsReadPostgres } from '../../../bench/rows-read-postgres.ts'
import { freshDatabase } from '../../../test/setup/fresh-database.ts'
import { postgresStore } from './index.ts'

test('a list of sessions reads the sessions, however many conversations there are', async () => {
  const connectionString = await freshDatabase(inject('postgresUrl'))
  const store = postgresStore({ connectionString, max: 4 })
  try {
    const session = (id: string) => store.putConversation(id, { kind: 'flow', agent: 'flow:order' })
    await session('s1')
    await Promise.all(Array.from({ length: 400 }, (_, n) => store.putConversation(`c${n}`, { agent: 'support' })))
    await session('s2')
    const rowsRead = rowsReadPostgres(connectionString)
    const listed: string[][] = []
    const rows = await rowsRead(async () => {
      listed.push((await store.listConversations({ kind: 'flow' })).map(({ id }) => id))
      listed.push((await store.listConversations({ kind: 'flow', before: 's2' })).map(({ id }) => id))
    })
    expect(listed).toEqual([['s2', 's1'], ['s1']])
    // The sessions, and the one that a page begins after.
    expect(rows).toBeLessThan(12)
  } finally {
    await store.close()
  }
})
