import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { expect, inject, test, vi } from 'vitest'
import { silentLogger } from '../../src/base/logger.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { Database } from '../../src/store/sqlite/database.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import type { Store } from '../../src/store/store.ts'
import { titled, userMsg } from '../../src/testing/conformance/event-builders.ts'
import { freshDatabase } from '../setup/fresh-database.ts'

const toTitles = { name: 'titles', types: ['titled'], agent: null }

async function aTurn(store: Store, id: string): Promise<void> {
  await store.commit(id, { events: [userMsg()], conversation: { agent: 'desk' } })
  await store.commit(id, { events: [titled('A title')] })
}

/** What SQLite is asked during `work`, with the number of bound values. */
async function statementsOf(work: () => Promise<void>): Promise<string[]> {
  const asked: string[] = []
  const spies = (['run', 'get', 'all', 'insert', 'exec'] as const).map((name) => {
    const original = Database.prototype[name] as (sql: string, ...values: unknown[]) => unknown
    return vi.spyOn(Database.prototype, name).mockImplementation(function (
      this: Database,
      sql: string,
      ...values: unknown[]
    ) {
      asked.push(`${name} ${values.length} ${sql.replaceAll(/\s+/g, ' ')}`)
      return original.call(this, sql, ...values) as never
    })
  })
  await work()
  for (const spy of spies) spy.mockRestore()
  return asked
}

test('a store without subscribers has no trigger and asks the same statements as ever (sqlite)', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-cost-'))
  const path = join(folder, 'log.db')
  const store = sqliteStore({ path, logger: silentLogger, expiry: false })
  const triggers = () => new DatabaseSync(path).prepare("SELECT name FROM sqlite_master WHERE type = 'trigger'").all()
  await aTurn(store, 'warm')
  const without = await statementsOf(() => aTurn(store, 'without'))
  expect(triggers()).toEqual([])
  expect(without.filter((text) => /outbox|subscri/.test(text))).toEqual([])
  await store.outbox!.register([toTitles])
  expect(triggers()).toHaveLength(1)
  // With subscribers the same statements are asked, too: the database writes the rows.
  expect(await statementsOf(() => aTurn(store, 'with'))).toEqual(without)
  expect(await store.outbox!.subscribers()).toMatchObject([{ waiting: 1 }])
  await store.outbox!.removeSubscriber('titles')
  expect(triggers()).toEqual([])
  await store.close()
  rmSync(folder, { recursive: true })
})

test('a store without subscribers has no trigger and asks the same statements as ever (postgres)', async () => {
  const url = await freshDatabase(inject('postgresUrl'))
  const client = new pg.Client(url)
  await client.connect()
  const store = postgresStore({ connectionString: url, logger: silentLogger, expiry: false, max: 2 })
  const triggers = async () =>
    (await client.query("SELECT tgname FROM pg_trigger WHERE tgname = 'outbox_rows'")).rows.length
  await aTurn(store, 'warm')
  expect(await triggers()).toBe(0)
  const asked = vi.spyOn(pg.Client.prototype, 'query')
  // Hints and the settings of a connection are sent on their own.
  const textsOf = (): string[] =>
    asked.mock.calls
      .map(([query]) => String((Object(query) as { text?: string }).text ?? ''))
      .filter((text) => text.includes('"perdure"'))
  await aTurn(store, 'counted without')
  const without = textsOf()
  asked.mockClear()
  await store.outbox!.register([toTitles])
  expect(await triggers()).toBe(1)
  asked.mockClear()
  await aTurn(store, 'counted with')
  expect(textsOf()).toEqual(without)
  expect(without.filter((text) => /outbox|subscri/.test(text))).toEqual([])
  asked.mockRestore()
  expect(await store.outbox!.subscribers()).toMatchObject([{ waiting: 1 }])
  await store.outbox!.removeSubscriber('titles')
  expect(await triggers()).toBe(0)
  await store.close()
  await client.end()
})
