import { expect, test } from 'vitest'
import { ratioInterval } from '../../bench/against/interval.ts'
import { seededRandom } from '../faults/harness/seeded-random.ts'

test('the interval has the ranks of the table of Wilcoxon: of ten values and 95 %, all but eight means on each side', () => {
  const ratios = Array.from({ length: 10 }, (_, index) => Math.exp(2 ** index / 100))
  const means = ratios
    .flatMap((one, index) => ratios.slice(index).map((other) => (Math.log(one) + Math.log(other)) / 2))
    .sort((left, right) => left - right)
  const { low, high } = ratioInterval(ratios, 0.95)
  expect(Math.log(low)).toBeCloseTo(means[8]!, 9)
  expect(Math.log(high)).toBeCloseTo(means[means.length - 9]!, 9)
})

test('of two equal trees it has 1 as often as it says, however wild the noise', () => {
  const random = seededRandom(1)
  const runs = 2_000
  let missed = 0
  for (let run = 0; run < runs; run++) {
    const { low, high } = ratioInterval(noisyRatios(random.next, 1, 18), 0.95)
    if (low > 1 || high < 1) missed += 1
  }
  expect(missed / runs).toBeGreaterThan(0.03)
  expect(missed / runs).toBeLessThan(0.06)
})

test('a tree that is a tenth slower is seen', () => {
  const { median, high } = ratioInterval(noisyRatios(seededRandom(2).next, 0.9, 18), 0.995)
  expect(median).toBeCloseTo(0.9, 1)
  expect(high).toBeLessThan(1)
})

test('with too few ratios for the confidence it is everything there is', () => {
  expect(ratioInterval([0.5, 1, 2], 0.95)).toEqual({ median: 1, low: 0.5, high: 2 })
})

/** About three in a hundred off, and one of ten wild. */
function noisyRatios(next: () => number, ratio: number, count: number): number[] {
  return Array.from({ length: count }, () => {
    const spread = next() < 0.1 ? 0.6 : 0.06
    return ratio * Math.exp((next() + next() - 1) * spread)
  })
}
