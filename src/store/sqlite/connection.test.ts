import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Connection } from './connection.ts'
import type { Database } from './database.ts'
import { busyError } from './failure.ts'

let folder = ''
let connection: Connection

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-connection-'))
  connection = new Connection(join(folder, 'a.db'), 30)
})

afterEach(() => {
  connection.close()
  rmSync(folder, { recursive: true })
})

const errorOf = (errcode: number) => Object.assign(new Error('it said so'), { code: 'ERR_SQLITE_ERROR', errcode })
const isOpen = (db: Database) => {
  try {
    return db.get<{ one: number }>('SELECT 1 AS one')?.one === 1
  } catch {
    return false
  }
}

test('one connection serves all, until an error that it cannot go on from; then the file is opened again', () => {
  const first = connection.open()
  expect(connection.open()).toBe(first)
  expect(connection.failed(errorOf(19))).toMatchObject({ code: 'store_failed', ambiguous: false })
  expect(connection.open()).toBe(first)
  expect(connection.failed(errorOf(11), { ambiguous: true })).toMatchObject({ ambiguous: true, retryable: false })
  const second = connection.open()
  expect(second).not.toBe(first)
  expect([isOpen(first), isOpen(second)]).toEqual([false, true])
})

test('after a disk has failed, the log is written out before anything else is', () => {
  connection.open().exec('CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (1)')
  connection.failed(errorOf(10))
  const again = connection.open()
  expect(again.get<{ n: number }>('SELECT n FROM t')?.n).toBe(1)
  expect(connection.open()).toBe(again)
})

test('a broken connection is opened again, and closing twice does nothing', () => {
  const first = connection.open()
  connection.drop()
  connection.drop()
  expect(connection.open()).not.toBe(first)
  connection.close()
  connection.close()
  expect(isOpen(connection.open())).toBe(true)
})

test('a read that finds the file busy is tried again, until its time is up', async () => {
  let attempts = 0
  const read = connection.read(() => {
    attempts += 1
    if (attempts < 3) throw busyError()
    return 'read'
  })
  expect(await read).toBe('read')
  const never = connection.read(() => {
    throw busyError()
  })
  await expect(never).rejects.toMatchObject({ code: 'store_busy' })
  const failing = connection.read(() => {
    throw errorOf(11)
  })
  await expect(failing).rejects.toMatchObject({ code: 'store_failed' })
})
