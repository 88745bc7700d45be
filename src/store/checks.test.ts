import { expect, test } from 'vitest'
import {
  checkDuration,
  checkHolder,
  checkId,
  checkNewId,
  checkOneOf,
  checkSuspects,
  checkWhole,
  isDotSegment,
  readList,
} from './checks.ts'

/** Of these, those that are refused, with what is said. */
function refused(check: (value: unknown) => void, values: readonly unknown[]): unknown[] {
  return values.flatMap((value) => {
    try {
      check(value)
      return []
    } catch (error) {
      return [[value, (error as Error).message]]
    }
  })
}

const told = (part: string) => expect.stringContaining(part)

test('an id is a text without control characters of at most 255 bytes', () => {
  const check = (value: unknown) => checkId('id', value)
  const good = ['a', ' ', '.', '..', 'x'.repeat(255), 'é'.repeat(127), '😀', '\u00a0', '~', '\u0020']
  expect(refused(check, good)).toEqual([])
  const bad = [7, null, undefined, '', 'a\ud800', 'a\u0000', 'a\u001fb', '\u007f', '\u009f', 'x'.repeat(256)]
  expect(refused(check, bad)).toEqual([
    [7, told('is a number, not a string')],
    [null, told('is null, not a string')],
    [undefined, told('is undefined, not a string')],
    ['', told('is empty')],
    ['a\ud800', told('has a lone surrogate')],
    ['a\u0000', told('has a control character')],
    ['a\u001fb', told('has a control character')],
    ['\u007f', told('has a control character')],
    ['\u009f', told('has a control character')],
    ['x'.repeat(256), told('has 256 bytes')],
  ])
  expect(refused(check, ['é'.repeat(128), '€'.repeat(86)])).toEqual([
    ['é'.repeat(128), told('has 256 bytes')],
    ['€'.repeat(86), told('has 258 bytes')],
  ])
})

test('a new id is not a dot segment of a path', () => {
  const check = (value: unknown) => checkNewId('id', value)
  expect(refused(check, ['a', '...', '.a', 'a.'])).toEqual([])
  expect(refused(check, ['.', '..', ''])).toEqual([
    ['.', told("is '.', which no path of a URL can hold")],
    ['..', told("is '..', which no path of a URL can hold")],
    ['', told('is empty')],
  ])
  expect(['.', '..', '...', ''].map(isDotSegment)).toEqual([true, true, false, false])
})

test('a holder is an id other than that of a quarantine', () => {
  expect(refused(checkHolder, ['node 1', 'quarantined', ''])).toEqual([
    ['quarantined', told("must not be 'quarantined'")],
    ['', told('is empty')],
  ])
})

test('the suspects option is true, false or absent', () => {
  expect(refused(checkSuspects, [true, false, undefined])).toEqual([])
  expect(refused(checkSuspects, [null, 0, 'true'])).toHaveLength(3)
})

test('a whole number is a safe integer and at least the minimum', () => {
  const check = (value: unknown) => checkWhole('n', value, 2)
  expect(refused(check, [2, 3, Number.MAX_SAFE_INTEGER])).toEqual([])
  expect(refused(check, [1, 2.5, Number.NaN, Number.MAX_SAFE_INTEGER + 1, '2', 2n, null])).toHaveLength(7)
})

test('a duration is at least a millisecond unless stated otherwise, and at most a hundred years', () => {
  const most = 3_155_760_000_000
  expect(refused((value) => checkDuration('ms', value), [1, most])).toEqual([])
  expect(refused((value) => checkDuration('ms', value), [0, -1, most + 1])).toHaveLength(3)
  expect(refused((value) => checkDuration('ms', value, 0), [0])).toEqual([])
})

test('a choice must be one of its options', () => {
  expect(refused((value) => checkOneOf('how', value, ['a', 'b']), ['a', 'c', 0])).toEqual([
    ['c', told('must be one of a, b')],
    [0, told('must be one of a, b')],
  ])
})

test('a list is copied with its holes filled, and has at most 100,000 items', () => {
  const given = [1, 2]
  expect(readList('list', given)).toEqual([1, 2])
  expect(readList('list', given)).not.toBe(given)
  expect(Object.keys(readList('list', new Array(3)))).toEqual(['0', '1', '2'])
  expect(readList('list', new Array(100_000))).toHaveLength(100_000)
  expect(() => readList('list', new Array(100_001))).toThrow('has 100001 items; the limit is 100000')
  expect(() => readList('list', 'ab' as never)).toThrow('must be a list')
})
