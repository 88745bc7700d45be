import { expect, test } from 'vitest'
import { Backoff, delayAfter, jittered } from './clock.ts'

function failures(backoff: Backoff, count: number): number[] {
  return Array.from({ length: count }, () => {
    backoff.failed()
    const { waitMs } = backoff
    backoff.hasRead()
    return waitMs
  })
}

test('a store that can be read and not written is left alone for longer each time', () => {
  expect(failures(new Backoff(), 9)).toEqual([50, 100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000])
})

test('what was read need not be waited for, and after a write it begins anew', () => {
  const backoff = new Backoff()
  failures(backoff, 3)
  expect(backoff.waitMs).toBe(0)
  backoff.hasWritten()
  expect(failures(backoff, 2)).toEqual([50, 100])
})

test('a delay doubles with each failure in a row up to the longest, however many there were', () => {
  const delays = [1, 2, 3, 4, 5, 5_000].map((failures) => delayAfter(failures, { firstMs: 100, mostMs: 1_000 }))
  expect(delays).toEqual([100, 200, 400, 800, 1_000, 1_000])
  expect(delayAfter(5_000, { firstMs: 0, mostMs: 1_000 })).toBe(0)
})

test('a jittered delay is in the upper half of it', () => {
  expect([0, 0.5, 0.999].map((drawn) => Math.round(jittered(100, () => drawn)))).toEqual([100, 75, 50])
  for (let run = 0; run < 100; run++) expect(Math.abs(jittered(100) - 75)).toBeLessThanOrEqual(25)
})
