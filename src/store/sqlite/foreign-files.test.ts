import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { gunzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { silentLogger } from '../../base/logger.ts'
import { knownVersion } from './migrate.ts'
import { sqliteStore } from './sqlite-store.ts'
import { createTables } from './tables.ts'

let folder: string
let path: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-foreign-'))
  path = join(folder, 'store.db')
})

afterEach(() => rmSync(folder, { recursive: true }))

const invoices = 'CREATE TABLE invoices (id INTEGER); INSERT INTO invoices VALUES (1);'

describe('a database of another program', () => {
  test.each<[string, () => void]>([
    ['as SQLite makes them', () => written(invoices)],
    ['with a write-ahead log', () => written(`PRAGMA journal_mode = WAL; ${invoices}`)],
    ['with a log that was left behind', () => leftBehind(`PRAGMA journal_mode = WAL; ${invoices}`)],
    ['with all of it in a log that was left behind', () => leftBehind('PRAGMA journal_mode = WAL', invoices)],
    ['with a transaction that was broken off', () => brokenOff(invoices)],
    ['with a version of its own', () => written(`${invoices} PRAGMA user_version = 1`)],
    ['with the version of ours', () => written(`${invoices} PRAGMA user_version = ${knownVersion}`)],
    ['with a greater version', () => written(`${invoices} PRAGMA user_version = 1000`)],
    ['with a mark and nothing else', () => written('PRAGMA application_id = 7; PRAGMA user_version = 1; VACUUM')],
    [
      'with a mark and tables like ours',
      () => written(`${createTables} PRAGMA user_version = 1; PRAGMA application_id = 7`),
    ],
    ['with one table like ours', () => written('CREATE TABLE events (id INTEGER); PRAGMA user_version = 1')],
    ['with tables like ours and no version', () => written(createTables)],
    ['with a view alone', () => written('CREATE VIEW one AS SELECT 1')],
  ])('%s is refused, and neither it nor what is beside it changes', async (_, make) => {
    make()
    const before = everyFile()
    const store = sqliteStore({ path, logger: silentLogger })
    const refused = { code: 'store_failed', retryable: false, message: expect.stringContaining('of another program') }
    await expect(store.listConversations()).rejects.toMatchObject(refused)
    await expect(store.appendEvent('c', { type: 'titled', content: { title: 'x' } })).rejects.toMatchObject(refused)
    await expect(store.upkeep!.schema()).rejects.toMatchObject(refused)
    await store.close()
    expect(everyFile()).toEqual(before)
  })
})

describe('a database of Perdure 0.1', () => {
  test.each<[string, () => void]>([
    ['of its first schema', () => unpacked('sqlite-schema-2')],
    ['of its last schema', () => unpacked('sqlite-schema-15')],
    [
      'of a schema between',
      () => {
        unpacked('sqlite-schema-2')
        written('PRAGMA user_version = 9')
      },
    ],
    [
      'whose process was killed',
      () => {
        unpacked('sqlite-schema-15', 'alive.db')
        leftBehind("PRAGMA journal_mode = WAL; UPDATE conversations SET title = 'changed'")
      },
    ],
  ])('%s is refused and not changed, with the commands that move it', async (_, make) => {
    make()
    const before = everyFile()
    const store = sqliteStore({ path, logger: silentLogger })
    const message = `Run: npx perdure export old.jsonl --store '${path}' where 0.1 is installed, then npx perdure import old.jsonl --store <new store>`
    const refused = { code: 'schema_too_old', retryable: false, message: expect.stringContaining(message) }
    await expect(store.listConversations()).rejects.toMatchObject(refused)
    await expect(store.appendEvent('c', { type: 'titled', content: { title: 'x' } })).rejects.toMatchObject(refused)
    await expect(store.upkeep!.schema()).rejects.toMatchObject(refused)
    await expect(store.upkeep!.migrate()).rejects.toMatchObject(refused)
    await store.close()
    expect(everyFile()).toEqual(before)
  })
})

test('a file of a newer version is refused and not changed', async () => {
  const made = sqliteStore({ path, logger: silentLogger })
  await made.listConversations()
  await made.close()
  written(`PRAGMA user_version = ${knownVersion + 1}; PRAGMA journal_mode = DELETE`)
  const before = everyFile()
  const store = sqliteStore({ path, logger: silentLogger })
  await expect(store.listConversations()).rejects.toMatchObject({ code: 'schema_too_new', retryable: false })
  await store.close()
  expect(everyFile()).toEqual(before)
})

test('examining a store that no process has open leaves no trace', async () => {
  const store = sqliteStore({ path, logger: silentLogger })
  await store.listConversations()
  await store.close()
  const before = everyFile()
  const looking = sqliteStore({ path, logger: silentLogger })
  expect(await looking.upkeep!.schema()).toMatchObject({ found: expect.any(Number) })
  await looking.close()
  expect(everyFile()).toEqual(before)
})

test('a file whose creation was interrupted is completed', async () => {
  written('PRAGMA journal_mode = WAL')
  const store = sqliteStore({ path, logger: silentLogger })
  await store.appendEvent('c', { type: 'titled', content: { title: 'x' } })
  expect(await store.streamEvents('c')).toHaveLength(1)
  await store.close()
})

/** A file that 0.1 wrote. */
function unpacked(name: string, as = 'store.db'): void {
  const packed = readFileSync(`test/fixtures/0.1/stores/${name}.db.gz`)
  writeFileSync(join(folder, as), gunzipSync(packed))
}

/** As a program leaves it that ends well. */
function written(sql: string): void {
  const db = new DatabaseSync(path)
  db.exec(sql)
  db.close()
}

/** As a program leaves it that is killed. */
function leftBehind(sql: string, unwritten = 'SELECT 1'): void {
  const alive = join(folder, 'alive.db')
  const db = new DatabaseSync(alive)
  db.exec(
    `${sql}; PRAGMA wal_checkpoint(TRUNCATE); PRAGMA wal_autocheckpoint = 0; ${unwritten}; CREATE TABLE more (id)`,
  )
  for (const end of ['', '-wal', '-shm']) copyFileSync(alive + end, path + end)
  db.close()
  rmSync(alive)
}

function brokenOff(sql: string): void {
  const alive = join(folder, 'alive.db')
  const db = new DatabaseSync(alive)
  db.exec(`PRAGMA cache_size = 1; ${sql}; BEGIN; CREATE TABLE more (text TEXT)`)
  for (let n = 0; n < 200; n++) db.exec(`INSERT INTO more VALUES ('${'x'.repeat(2_000)}')`)
  for (const end of ['', '-journal']) copyFileSync(alive + end, path + end)
  db.exec('ROLLBACK')
  db.close()
  rmSync(alive)
}

/** What SQLite keeps beside a log to find its way in it is of no program, and every reader writes there. */
function everyFile(): Record<string, string> {
  const contentOf = (name: string) => {
    if (name.endsWith('-shm')) return ''
    return `${statSync(join(folder, name)).mtimeMs} ${readFileSync(join(folder, name)).toString('base64')}`
  }
  return Object.fromEntries(
    readdirSync(folder)
      .toSorted()
      .map((name) => [name, contentOf(name)]),
  )
}
