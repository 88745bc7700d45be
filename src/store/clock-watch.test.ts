import { expect, test } from 'vitest'
import { ClockWatch, longestLease } from './clock-watch.ts'

test('a clock that was put back is noticed once, and the first look knows nothing of what was before', () => {
  const watch = new ClockWatch()
  expect(watch.newsAt(10_000_000)).toBe('first')
  watch.isRightAt(10_000_000)
  expect(watch.newsAt(10_000_000)).toBe('forward')
  expect(watch.newsAt(9_999_000)).toBe('forward')
  expect(watch.newsAt(9_998_999)).toBe('back')
  watch.isRightAt(9_400_000)
  expect(watch.newsAt(9_400_500)).toBe('forward')
})

test('what could not be put right is put right with the next look', () => {
  const watch = new ClockWatch()
  expect([watch.newsAt(5), watch.newsAt(6)]).toEqual(['first', 'first'])
  watch.isRightAt(10_000)
  expect([watch.newsAt(1), watch.newsAt(500)]).toEqual(['back', 'back'])
})

test('the lease of another may last three times as long as ours', () => {
  expect(longestLease(10_000)).toBe(30_000)
})
