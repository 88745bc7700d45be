import { median } from '../measure.ts'

export type Interval = { readonly median: number; readonly low: number; readonly high: number }

/**
 * The median of independent ratios, and the interval that contains the true one with at least this confidence: the
 * Hodges-Lehmann estimate with Wilcoxon ranks, on logarithms. It assumes only that noise is equally likely to favour
 * either side, so outliers do no harm. With too few ratios for the confidence, the interval is the whole range.
 */
export function ratioInterval(ratios: readonly number[], confidence: number): Interval {
  const logs = ratios.map(Math.log)
  const means = logs.flatMap((one, index) => logs.slice(index).map((other) => (one + other) / 2))
  means.sort((left, right) => left - right)
  const outermost = Math.max(0, likelyRanks(logs.length, confidence) - 1)
  return {
    median: Math.exp(median(means)),
    low: Math.exp(means[outermost]!),
    high: Math.exp(means[means.length - 1 - outermost]!),
  }
}

/**
 * How many means may lie outside on each side: one more than chance gives a rank sum of ranks 1 to `count` with random
 * signs.
 */
function likelyRanks(count: number, confidence: number): number {
  let ways = [1]
  for (let rank = 1; rank <= count; rank++)
    ways = Array.from({ length: ways.length + rank }, (_, sum) => (ways[sum] ?? 0) + (ways[sum - rank] ?? 0))
  let ranks = 0
  for (let tail = 0; ; ranks++) {
    tail += ways[ranks]! / 2 ** count
    if (2 * tail > 1 - confidence) return ranks
  }
}
