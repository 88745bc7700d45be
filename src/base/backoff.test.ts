import { expect, test } from 'vitest'
import { Backoff } from './clock.ts'

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
