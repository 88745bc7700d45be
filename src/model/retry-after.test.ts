import { describe, expect, test } from 'vitest'
import { retryAfterMs } from './fault.ts'

const now = Date.UTC(2030, 0, 1)

describe('retryAfterMs', () => {
  test.each([
    ['seconds', { 'retry-after': '7' }, 7000],
    ['parts of a second', { 'retry-after': '0.25' }, 250],
    ['a date', { 'retry-after': 'Tue, 01 Jan 2030 00:00:30 GMT' }, 30_000],
    ['a date that has passed', { 'retry-after': 'Mon, 01 Jan 2029 00:00:00 GMT' }, 0],
    ['a negative number', { 'retry-after': '-5' }, 0],
    ['milliseconds', { 'retry-after-ms': '120' }, 120],
    ['milliseconds before seconds', { 'retry-after-ms': '120', 'retry-after': '7' }, 120],
    ['nonsense in one and sense in the other', { 'retry-after-ms': 'soon', 'retry-after': '7' }, 7000],
    ['any case', { 'Retry-After': '7' }, 7000],
    ['a number instead of a string', { 'retry-after': 7 }, 7000],
    ['a Headers object', new Headers({ 'Retry-After': '7' }), 7000],
    ['nonsense', { 'retry-after': 'later' }, null],
    ['an empty value', { 'retry-after': '' }, null],
    ['a value of the wrong type', { 'retry-after': { seconds: 7 } }, null],
    ['no such header', { 'content-type': 'text/html' }, null],
    ['no headers', undefined, null],
    ['headers that are none', 'retry-after: 7', null],
  ])('reads %s', (_, headers, expected) => {
    expect(retryAfterMs(headers, now)).toBe(expected)
  })
})
