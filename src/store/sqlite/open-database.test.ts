import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { silentLogger } from '../../base/logger.ts'
import { openDatabase } from './connection.ts'
import { sqliteStore } from './sqlite-store.ts'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-'))
})

afterEach(() => rmSync(folder, { recursive: true }))

test('a connection has a write-ahead log, and syncs it with every commit', () => {
  const db = openDatabase(join(folder, 'store.db'))
  expect(db.get('PRAGMA journal_mode')).toMatchObject({ journal_mode: 'wal' })
  expect(db.get('PRAGMA synchronous')).toMatchObject({ synchronous: 2 })
  expect(db.get('PRAGMA busy_timeout')).toMatchObject({ timeout: 0 })
  db.close()
})

test('what a process left in the log is written to the file when another opens it; a new file has nothing to write', () => {
  const path = join(folder, 'store.db')
  const pages = () => statSync(path).size / 4_096
  const left = openDatabase(path)
  expect(pages()).toBe(1)
  const db = openDatabase(path)
  expect(pages()).toBeGreaterThan(10)
  db.close()
  left.close()
})

test('a folder that does not exist is named', async () => {
  const error = await failureOf(join(folder, 'missing', 'store.db'))
  expect(error).toMatchObject({ code: 'store_failed', ambiguous: false })
  expect(error.message).toContain(`The folder '${join(folder, 'missing')}' does not exist`)
})

test('a folder in the place of the file is refused', async () => {
  mkdirSync(join(folder, 'store.db'))
  expect((await failureOf(join(folder, 'store.db'))).message).toContain('It is a folder')
})

test('a file that is no database is refused and left as it is', async () => {
  writeFileSync(join(folder, 'store.db'), 'a letter to my aunt, longer than the header of a database file '.repeat(20))
  const error = await failureOf(join(folder, 'store.db'))
  expect(error).toMatchObject({ code: 'store_failed' })
  expect(error.message).toContain('not an SQLite database')
})

test('a database of another program is refused', async () => {
  change('CREATE TABLE invoices (id INTEGER)')
  expect((await failureOf(join(folder, 'store.db'))).message).toContain("a table 'invoices'")
})

test('a schema of a newer version is refused', async () => {
  openDatabase(join(folder, 'store.db')).close()
  change('PRAGMA user_version = 1000')
  expect(await failureOf(join(folder, 'store.db'))).toMatchObject({ code: 'schema_too_new' })
})

test('what is due and what is held is found on the agenda, by several connections', async () => {
  const stores = Array.from({ length: 3 }, () => sqliteStore({ path: join(folder, 'store.db'), logger: silentLogger }))
  const [first] = stores
  await first!.listConversations()
  const [now, day] = [Date.now(), 86_400_000]
  const db = new DatabaseSync(join(folder, 'store.db'))
  const insert = db.prepare(
    `INSERT INTO conversations (tenant, id, created_at, updated_at, wake_at, dormant, kind, agent, status, settings, lease_holder, lease_epoch, lease_until)
     VALUES ('default', ?, 1, 1, ?, 0, 'conversation', 'echo', 'active', '{}', ?, ?, ?)`,
  )
  insert.run('due', now - 1, null, null, null)
  insert.run('asleep', now + day, null, null, null)
  insert.run('at rest', null, null, null, null)
  insert.run('held', now - 1, 'old', 1, now + day)
  insert.run('held at rest', null, 'old', 2, now + day)
  insert.run('left behind', now - 2, 'dead', 3, now - 1)
  db.close()
  for (const store of stores) {
    const found = await store.dueWork({ agents: ['echo'], limit: 10 })
    expect(found.map(({ id }) => id)).toEqual(['left behind', 'due'])
    expect(await store.acquireLease('held', 'new', 1_000)).toBe(null)
    const { strays } = await store.keepLeases('old', day, [])
    expect(strays.map(({ id }) => id).toSorted()).toEqual(['held', 'held at rest'])
  }
  for (const store of stores) await store.close()
})

test('a store that could not be opened works when the cause is gone', async () => {
  const store = sqliteStore({ path: join(folder, 'later', 'store.db'), logger: silentLogger })
  await expect(store.appendEvent('chat', { type: 'titled', content: { title: 'a' } })).rejects.toMatchObject({
    code: 'store_failed',
    retryable: true,
  })
  mkdirSync(join(folder, 'later'))
  expect(await store.appendEvent('chat', { type: 'titled', content: { title: 'a' } })).toBe(1)
  await store.close()
})

test('a path that is not a file is refused immediately, with what to use instead', () => {
  expect(() => sqliteStore({ path: ':memory:' })).toThrow(/memoryStore\(\)/)
  expect(() => sqliteStore({ path: '' })).toThrow(/must name a file/)
})

function change(sql: string): void {
  const database = new DatabaseSync(join(folder, 'store.db'))
  database.exec(sql)
  database.close()
}

async function failureOf(path: string): Promise<Error> {
  const store = sqliteStore({ path, logger: silentLogger })
  const failure = await store.getConversation('chat').then(
    () => new Error('it did not fail'),
    (error: Error) => error,
  )
  await store.close()
  return failure
}
