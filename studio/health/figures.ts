import type { Percentiles, Stats, StatsBucket } from 'perdure/client'
import { duration } from '../parts/time.tsx'

const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })

export function count(value: number): string {
  return value < 10_000 ? value.toLocaleString('en') : compact.format(value)
}

/** As in `340 ms`, `1.2 s` or `4 m`. */
export function milliseconds(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  return ms < 60_000 ? `${(ms / 1_000).toFixed(1)} s` : duration(ms)
}

/** The same for the tick of an axis, where nothing is rounded: `30 s`, `1 m 30 s`. */
export function exactly(ms: number): string {
  if (ms < 60_000) return ms < 1_000 ? `${ms} ms` : `${ms / 1_000} s`
  const rest = ms % 60_000
  return rest === 0 ? duration(ms) : `${duration(ms - rest)} ${rest / 1_000} s`
}

/** A line of a chart. `of` is null where a bucket has no value. */
export type Series = {
  readonly name: string
  readonly colour: string
  readonly isDashed?: true
  readonly of: (bucket: StatsBucket) => number | null
}

export type ChartKind = {
  readonly title: string
  readonly shape: 'bars' | 'lines'
  readonly format: (value: number) => string
  readonly series: readonly Series[]
}

const percentiles = (pick: (bucket: StatsBucket) => Percentiles | null): Series[] => [
  { name: 'p50', colour: '--color-text', of: (bucket) => pick(bucket)?.p50 ?? null },
  { name: 'p99', colour: '--color-faint', isDashed: true, of: (bucket) => pick(bucket)?.p99 ?? null },
]

export const charts: readonly ChartKind[] = [
  {
    title: 'Turns',
    shape: 'bars',
    format: count,
    series: [
      { name: 'ended', colour: '--color-faint', of: (bucket) => turnsIn(bucket) },
      { name: 'failed', colour: '--color-failed', of: ({ turns }) => turns['failed'] ?? 0 },
    ],
  },
  { title: 'Model calls', shape: 'lines', format: milliseconds, series: percentiles(({ model }) => model) },
  {
    title: 'Time to first token',
    shape: 'lines',
    format: milliseconds,
    series: percentiles(({ firstToken }) => firstToken),
  },
  {
    title: 'Answer to first token',
    shape: 'lines',
    format: milliseconds,
    series: percentiles(({ answerToFirstToken }) => answerToFirstToken),
  },
  {
    title: 'Oldest question',
    shape: 'lines',
    format: milliseconds,
    series: [{ name: 'age', colour: '--color-waiting', of: ({ oldestWaitMs }) => oldestWaitMs }],
  },
  { title: 'Tools', shape: 'lines', format: milliseconds, series: percentiles(({ tool }) => tool) },
  {
    title: 'Tokens',
    shape: 'bars',
    format: count,
    series: [{ name: 'tokens', colour: '--color-faint', of: ({ tokens }) => tokens }],
  },
  {
    title: 'Errors',
    shape: 'bars',
    format: count,
    series: [{ name: 'errors', colour: '--color-failed', of: ({ errors }) => errors }],
  },
]

function turnsIn({ turns }: StatsBucket): number {
  return Object.values(turns).reduce((sum, some) => sum + some, 0)
}

/** Over the whole window. */
export function totalsOf({ buckets }: Stats): { turns: number; failed: number; tokens: number; errors: number } {
  const totals = { turns: 0, failed: 0, tokens: 0, errors: 0 }
  for (const bucket of buckets) {
    totals.turns += turnsIn(bucket)
    totals.failed += bucket.turns['failed'] ?? 0
    totals.tokens += bucket.tokens
    totals.errors += bucket.errors
  }
  return totals
}

/** The buckets with something in a chart, newest first, for its table. */
export function rowsOf(
  { series }: ChartKind,
  buckets: readonly StatsBucket[],
): { at: number; values: (number | null)[] }[] {
  return buckets
    .map((bucket) => ({ at: bucket.at, values: series.map(({ of }) => of(bucket)) }))
    .filter(({ values }) => values.some((value) => value !== null && value !== 0))
    .reverse()
}

/** Where buckets are drawn, in seconds: around their middles, so that the one nearest to the pointer is the one under it. */
export function middlesOf(buckets: readonly StatsBucket[]): number[] {
  const [first, second] = buckets
  const half = first && second ? (second.at - first.at) / 2 : 0
  return buckets.map(({ at }) => (at + half) / 1_000)
}

/** From the beginning of the first bucket to the end of the last: the newest is what people look for. */
export function rangeOf(middles: ArrayLike<number>): [number, number] | [null, null] {
  const [first, second, last] = [middles[0], middles[1], middles[middles.length - 1]]
  if (first === undefined || second === undefined) return [null, null]
  const half = (second - first) / 2
  return [first - half, last! + half]
}
