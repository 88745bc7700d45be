import { expect, test } from 'vitest'
import { checkSyncOrder } from './check-sync-order.ts'

const log = '7</data/log.db-wal>'
const piece = (offset: number, content: string): string =>
  `10 pwrite64(${log}, "\\0\\1${content}"..., 4096, ${offset}) = 4096`
const sync = `10 fdatasync(${log}) = 0`
const failedSync = `10 fdatasync(${log}) = -1 EIO (Input/output error) (INJECTED)`
const answer = (name: string): string =>
  `10 write(3<socket:[99]>, "{\\"type\\":\\"answer\\",\\"commit\\":\\"${name}\\",\\"result\\":{\\"ok\\":true,\\"seq\\":1}}\\n", 70) = 70`

const violationsOf = (...lines: string[]): readonly string[] => checkSyncOrder(lines).violations

test('an acknowledgement after its sync is in order', () => {
  expect(violationsOf(piece(0, 'head'), piece(32, '@a.1@'), sync, answer('@a.1@'))).toEqual([])
})

test('an acknowledgement before its sync is a violation', () => {
  const early = ['@a.1@ was acknowledged before its sync (at 32)']
  expect(violationsOf(piece(32, '@a.1@'), answer('@a.1@'), sync)).toEqual(early)
})

test('a sync that began before the write does not count', () => {
  const lines = [
    `11 fdatasync(${log} <unfinished ...>`,
    piece(32, '@a.1@'),
    '11 <... fdatasync resumed>) = 0',
    answer('@a.1@'),
  ]
  expect(violationsOf(...lines)).toEqual(['@a.1@ was acknowledged before its sync (at 32)'])
})

test('a sync of another file does not count', () => {
  const elsewhere = '10 fdatasync(8</data/log.db>) = 0'
  expect(violationsOf(piece(32, '@a.1@'), elsewhere, answer('@a.1@'))).toHaveLength(1)
})

test('an acknowledgement behind a piece that a failed sync has lost is a violation', () => {
  const lines = [piece(32, '@a.1@'), failedSync, piece(4128, '@a.2@'), sync, answer('@a.2@')]
  expect(violationsOf(...lines)).toEqual([
    '@a.2@ was acknowledged behind a piece of the log (at 32) whose sync had failed',
  ])
})

test('a piece that is written again after a failed sync is as good as new', () => {
  expect(violationsOf(piece(32, '@a.1@'), failedSync, piece(32, '@a.2@'), sync, answer('@a.2@'))).toEqual([])
})

test('a log that begins anew has lost nothing', () => {
  const truncate = `10 ftruncate(${log}, 0) = 0`
  const lines = [piece(32, '@a.1@'), failedSync, truncate, piece(4128, '@a.2@'), sync, answer('@a.2@')]
  expect(violationsOf(...lines)).toEqual([])
})

test('an acknowledgement of what was never written is a violation, and a refusal is not one', () => {
  const refusal = answer('@a.2@').replace('true', 'false')
  expect(violationsOf(answer('@a.1@'), refusal)).toEqual(['@a.1@ was acknowledged and never written'])
})
