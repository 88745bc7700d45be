import type { StatsBucket } from 'perdure/client'
import { expect, test } from 'vitest'
import { middlesOf, rangeOf } from './figures.ts'

const buckets = [0, 60_000, 120_000].map((at) => ({ at }) as StatsBucket)

test('a chart reaches from the beginning of its first bucket to the end of its newest', () => {
  const middles = middlesOf(buckets)
  expect(middles).toEqual([30, 90, 150])
  expect(rangeOf(middles)).toEqual([0, 180])
  expect(rangeOf([])).toEqual([null, null])
})
