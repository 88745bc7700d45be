import type { StatsBucket } from 'perdure/client'
import { expect, test } from 'vitest'
import { exactly, middlesOf, rangeOf } from './figures.ts'

const buckets = [0, 60_000, 120_000].map((at) => ({ at }) as StatsBucket)

test('a chart reaches from the beginning of its first bucket to the end of its newest', () => {
  const middles = middlesOf(buckets)
  expect(middles).toEqual([30, 90, 150])
  expect(rangeOf(middles)).toEqual([0, 180])
  expect(rangeOf([])).toEqual([null, null])
})

test('the ticks of an axis of times are exact, so that no two read the same', () => {
  expect([0, 5, 1_500, 30_000, 60_000, 90_000, 600_000, 5_400_000, 86_400_000].map(exactly)).toEqual([
    ...['0 ms', '5 ms', '1.5 s', '30 s', '1 m', '1 m 30 s', '10 m', '1 h 30 m', '1 d'],
  ])
})
