import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { StoreError } from '../../base/errors/store-errors.ts'
import type { NewEvent } from '../../log/events.ts'
import type { Store } from '../store.ts'
import { Database } from './database.ts'
import { sqliteStore } from './sqlite-store.ts'

let folder: string
let store: Store

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-'))
  store = sqliteStore({ path: join(folder, 'store.db') })
  await store.appendEvent('chat', titled('first'))
})

afterEach(async () => {
  vi.restoreAllMocks()
  await store.close()
  rmSync(folder, { recursive: true })
})

test('commits that are asked for together share one transaction', async () => {
  const run = vi.spyOn(Database.prototype, 'run')
  await Promise.all(Array.from({ length: 64 }, (_, index) => store.appendEvent(`chat-${index}`, titled('hello'))))
  expect(run.mock.calls.filter(([sql]) => sql === 'COMMIT')).toHaveLength(1)
})

test('a writer who awaits each commit gets a transaction for each', async () => {
  const run = vi.spyOn(Database.prototype, 'run')
  await store.appendEvent('chat', titled('a'))
  await store.appendEvent('chat', titled('b'))
  expect(run.mock.calls.filter(([sql]) => sql === 'COMMIT')).toHaveLength(2)
})

test('a store with nothing to write does nothing, so it neither holds the process nor takes its time', async () => {
  await store.appendEvent('chat', titled('a'))
  const scheduled = vi.spyOn(globalThis, 'setImmediate')
  await new Promise((resolve) => setTimeout(resolve, 30))
  expect(scheduled).not.toHaveBeenCalled()
})

test('a change sees those before it in its group', async () => {
  const seqs = await Promise.all(['a', 'b', 'c'].map((title) => store.appendEvent('chat', titled(title))))
  expect(seqs).toEqual([2, 3, 4])
})

test('a refused change fails alone and leaves no gap', async () => {
  const results = await Promise.all([
    store.commit('chat', { events: [titled('a')], expectedSeq: 1 }),
    store.commit('chat', { events: [titled('b')], expectedSeq: 1 }),
    store.commit('chat', { events: [titled('c')], expectedSeq: 2 }),
  ])
  expect(results).toMatchObject([
    { ok: true, seq: 2 },
    { ok: false, conflict: 'seq', lastSeq: 2 },
    { ok: true, seq: 3 },
  ])
  expect(await titles()).toEqual(['first', 'a', 'c'])
})

test('when one write fails in an unforeseen way, the others of its group are made', async () => {
  // In the group, and again when it is alone.
  fail({ times: 2, errcode: 19 }, (sql, params) => sql.startsWith('INSERT INTO ev') && params.includes('{"title":"b"}'))
  const results = await Promise.allSettled(['a', 'b', 'c'].map((title) => store.appendEvent('chat', titled(title))))
  expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect((results[1] as PromiseRejectedResult).reason).toBeInstanceOf(StoreError)
  expect(await titles()).toEqual(['first', 'a', 'c'])
})

test('a commit that fails rejects every change in it as ambiguous, and the store continues', async () => {
  fail({ times: 1, errcode: 1034 }, (sql) => sql === 'COMMIT')
  const results = await Promise.allSettled(['a', 'b'].map((title) => store.appendEvent('chat', titled(title))))
  expect(results).toMatchObject([
    { status: 'rejected', reason: { code: 'store_failed', ambiguous: true } },
    { status: 'rejected', reason: { code: 'store_failed', ambiguous: true } },
  ])
  expect(await store.appendEvent('chat', titled('c'))).toBe(2)
})

test('a write that fails before its commit is not ambiguous', async () => {
  fail({ times: 1, errcode: 13 }, (sql) => sql.startsWith('INSERT INTO events'))
  await expect(store.appendEvent('chat', titled('a'))).rejects.toMatchObject({ code: 'store_failed', ambiguous: false })
  expect(await titles()).toEqual(['first'])
})

function titled(title: string): NewEvent {
  return { type: 'titled', content: { title } }
}

async function titles(): Promise<string[]> {
  return (await store.streamEvents('chat')).map((event) => (event as { content: { title: string } }).content.title)
}

type Failure = { readonly times: number; readonly errcode: number }

/** SQLite says so instead of doing it. */
function fail({ times, errcode }: Failure, matches: (sql: string, params: unknown[]) => boolean): void {
  const { run } = Database.prototype
  let left = times
  vi.spyOn(Database.prototype, 'run').mockImplementation(function (this: Database, sql, ...params) {
    if (left === 0 || !matches(sql, params)) return run.call(this, sql, ...params)
    left -= 1
    throw Object.assign(new Error('injected'), { code: 'ERR_SQLITE_ERROR', errcode })
  })
}
