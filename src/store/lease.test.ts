import { expect, test } from 'vitest'
import { ClockWatch, longestLease } from './lease.ts'

test('a clock that was put back is noticed once, and the first query has nothing to compare with', () => {
  const watch = new ClockWatch()
  expect(watch.observe(10_000_000)).toBe('first')
  watch.repairedAt(10_000_000)
  expect(watch.observe(10_000_000)).toBe('forward')
  expect(watch.observe(9_999_000)).toBe('forward')
  expect(watch.observe(9_998_999)).toBe('back')
  watch.repairedAt(9_400_000)
  expect(watch.observe(9_400_500)).toBe('forward')
})

test('what could not be repaired is repaired with the next query', () => {
  const watch = new ClockWatch()
  expect([watch.observe(5), watch.observe(6)]).toEqual(['first', 'first'])
  watch.repairedAt(10_000)
  expect([watch.observe(1), watch.observe(500)]).toEqual(['back', 'back'])
})

test('another process’s lease may last three times as long as ours', () => {
  expect(longestLease(10_000)).toBe(30_000)
})
