import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { InvalidArgumentError } from '../../base/errors/store-errors.ts'
import { asStoreError, busyError, isBusy, isDiskError, isHarmless } from './failure.ts'

const errorOf = (errcode: number | undefined, code = 'ERR_SQLITE_ERROR') =>
  Object.assign(new Error('it said so'), { code, ...(errcode === undefined ? {} : { errcode }) })

/** As SQLite numbers them, with one of its extended codes where there is one. */
const codes = {
  error: 1,
  perm: 3,
  abort: 4,
  busy: 5,
  'busy snapshot': 517,
  locked: 6,
  nomem: 7,
  readonly: 8,
  interrupt: 9,
  ioerr: 10,
  'ioerr fsync': 1034,
  corrupt: 11,
  notfound: 12,
  full: 13,
  cantopen: 14,
  protocol: 15,
  schema: 17,
  toobig: 18,
  constraint: 19,
  'constraint unique': 2067,
  mismatch: 20,
  misuse: 21,
  auth: 23,
  range: 25,
  notadb: 26,
}
const those = (isSo: (error: unknown) => boolean) =>
  Object.entries(codes).flatMap(([name, errcode]) => (isSo(errorOf(errcode)) ? [name] : []))

test('tells a lock, a disk failure and a failed statement apart by their codes', () => {
  expect(those(isBusy)).toEqual(['busy', 'busy snapshot', 'locked', 'protocol'])
  expect(those(isDiskError)).toEqual(['ioerr', 'ioerr fsync'])
  expect(those(isHarmless)).toEqual([
    ...['error', 'full', 'toobig', 'constraint', 'constraint unique', 'mismatch', 'range'],
  ])
  expect(isBusy(busyError())).toBe(true)
})

test('an error from elsewhere is harmless for a connection; an error of the binding about a closed one is not', () => {
  const bug = new TypeError('a bug')
  expect([isBusy(bug), isDiskError(bug), isHarmless(bug), isHarmless('text')]).toEqual([false, false, true, true])
  for (const code of ['ERR_INVALID_STATE', 'ERR_OUT_OF_RANGE', 'ERR_SQLITE_ERROR'])
    expect(isHarmless(errorOf(undefined, code))).toBe(false)
  expect(isHarmless(errorOf(10, 'ERR_SOMETHING'))).toBe(true)
})

test('the caller’s error is transient, unless the file or the value is at fault', () => {
  const isLasting = (error: unknown) => !(asStoreError(error, '/a.db') as { retryable: boolean }).retryable
  expect(those(isLasting)).toEqual(['corrupt', 'toobig', 'notadb'])
})

test.each([
  ['full', 'Free some disk space'],
  ['readonly', 'Make the file and its folder writable'],
  ['perm', 'Make the file and its folder writable'],
  ['auth', 'Make the file and its folder writable'],
  ['ioerr', 'Check that the disk works and has free space'],
  ['corrupt', 'restore it from a backup'],
  ['notadb', 'It is not an SQLite database'],
  ['toobig', 'The value is larger than SQLite can hold'],
  ['busy', 'Nothing was acknowledged. Try again.'],
] as const)('of %s the caller is told what to do', (name, advice) => {
  const error = asStoreError(errorOf(codes[name]), '/a.db')
  expect(error).toMatchObject({ code: 'store_failed', message: expect.stringContaining(advice), ambiguous: false })
  expect((error as Error).message).toContain("The store '/a.db' failed: it said so.")
})

test('the error for a file that cannot be opened says why', () => {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-advice-'))
  const told = (path: string) => (asStoreError(errorOf(codes.cantopen), path) as Error).message
  writeFileSync(join(folder, 'a.db'), '')
  expect(told(join(folder, 'none', 'a.db'))).toContain(`The folder '${join(folder, 'none')}' does not exist`)
  expect(told(folder)).toContain('It is a folder')
  expect(told(join(folder, 'a.db'))).toContain('Check that this process may read and write')
  rmSync(folder, { recursive: true })
})

test('an unknown outcome is marked as ambiguous; errors from elsewhere pass unchanged', () => {
  expect(asStoreError(errorOf(10), '/a.db', { ambiguous: true })).toMatchObject({ ambiguous: true })
  const [bug, own] = [new TypeError('a bug'), new InvalidArgumentError('a', 'b')]
  expect(asStoreError(bug, '/a.db')).toBe(bug)
  expect(asStoreError(own, '/a.db')).toBe(own)
})
