import { afterEach, expect, test, vi } from 'vitest'
import { BusyRetry } from './failure.ts'

afterEach(() => void vi.restoreAllMocks())

test('pauses grow with the attempts up to twelve milliseconds more than one, and differ', () => {
  vi.spyOn(performance, 'now').mockReturnValue(0)
  const random = vi.spyOn(Math, 'random').mockReturnValue(1)
  const retry = new BusyRetry(100)
  const pauses = Array.from({ length: 14 }, () => retry.next(null))
  expect(pauses).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 13, 13])
  random.mockReturnValue(0)
  expect(retry.next(null)).toBe(1)
})

test('the time is counted from the first refusal, and each call is tried once more at least', () => {
  const now = vi.spyOn(performance, 'now').mockReturnValue(5_000)
  const retry = new BusyRetry(100)
  const cause = new Error('locked')
  expect(typeof retry.next(cause)).toBe('number')
  now.mockReturnValue(5_099)
  expect(typeof retry.next(cause)).toBe('number')
  now.mockReturnValue(5_100)
  expect(retry.next(cause)).toMatchObject({ code: 'store_busy', message: expect.stringContaining('100'), cause })
  const none = new BusyRetry(0)
  expect(typeof none.next(cause)).toBe('number')
  expect(none.next(cause)).toMatchObject({ code: 'store_busy' })
})
