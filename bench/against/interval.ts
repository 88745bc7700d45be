import { median } from '../measure.ts'

export type Interval = { readonly median: number; readonly low: number; readonly high: number }

/**
 * Where the middle of independent ratios lies, and the interval that has the true one with at least this confidence: the estimate of Hodges and
 * Lehmann with the ranks of Wilcoxon, on logarithms. It takes for granted only that noise is as likely to favour one side as the other, so a few wild
 * values do no harm. With too few ratios for the confidence it is everything there is.
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

/** How many means may lie outside on each side, one more than what chance gives a rank sum: ranks 1 to `count`, each with the sign of a coin. */
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
