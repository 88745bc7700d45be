import { copyFileSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Database } from './database.ts'
import { sqliteStore } from './sqlite-store.ts'

const pageBytes = 4_096
const commits = 200
let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-'))
})

afterEach(() => {
  vi.restoreAllMocks()
  rmSync(folder, { recursive: true })
})

test('the log of a young store grows a few times by much, not with each commit', async () => {
  const { store, sizes, path } = await afterCommits()
  const early = growths(sizes.filter((size) => size <= 128 * pageBytes))
  const later = growths(sizes.filter((size) => size > 128 * pageBytes))
  expect(early.length).toBeGreaterThan(10)
  expect(later.length).toBeGreaterThan(0)
  expect(later.length).toBeLessThan(5)
  // What a crash leaves: room that was never written to is no part of the log.
  const copy = join(folder, 'copy.db')
  for (const suffix of ['', '-wal']) copyFileSync(`${path}${suffix}`, `${copy}${suffix}`)
  const copied = sqliteStore({ path: copy })
  expect(await copied.streamEvents('chat')).toEqual(await store.streamEvents('chat'))
  await copied.close()
  await store.close()
})

test('the log gets no more room than it is used for, and the file itself gets none', async () => {
  const { store, sizes, path } = await afterCommits(1_000)
  expect(Math.max(...sizes)).toBeLessThan(1_010 * (pageBytes + 24))
  await store.close()
  expect(statSync(path).size).toBeLessThan(100 * pageBytes)
})

test('a store without space for room continues without it', async () => {
  const { run } = Database.prototype
  let refused = 0
  vi.spyOn(Database.prototype, 'run').mockImplementation(function (this: Database, sql, ...params) {
    if (!sql.startsWith('INSERT INTO blob_bytes')) return run.call(this, sql, ...params)
    refused += 1
    throw Object.assign(new Error('database or disk is full'), { code: 'ERR_SQLITE_ERROR', errcode: 13 })
  })
  const { store } = await afterCommits()
  expect(refused).toBe(1)
  expect(await store.streamEvents('chat')).toHaveLength(commits)
  await store.close()
})

/** With the size of the log after each commit. */
async function afterCommits(count = commits) {
  const path = join(folder, 'store.db')
  const store = sqliteStore({ path })
  const sizes: number[] = []
  for (let n = 0; n < count; n++) {
    await store.appendEvent('chat', { type: 'titled', content: { title: `title ${n}` } })
    sizes.push(statSync(`${path}-wal`).size)
  }
  return { store, sizes, path }
}

/** By how much it grew, each time that it did. */
function growths(sizes: readonly number[]): number[] {
  return sizes.slice(1).flatMap((size, index) => (size > sizes[index]! ? [size - sizes[index]!] : []))
}
