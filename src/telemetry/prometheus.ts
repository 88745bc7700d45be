import type { Observer } from '../engine/observer.ts'
import { prometheusText, type TextMetric, type TextSample } from '../upkeep/prometheus-text.ts'
import { type Labels, Measuring, type Meters } from './measure.ts'
import { counters, histograms } from './names.ts'
import { RestReader } from './rest-reader.ts'

/** An observer for `createRuntime`, which counts what its process does. Needs no other package. */
export type PrometheusCounts = Observer & {
  /** What was counted since the process began, in the text format of Prometheus. For `metrics` of `createHandler`. */
  text(): string
  /** Resolves when every turn and session that has ended or waits is counted. */
  flush(): Promise<void>
}

/** Counts for Prometheus. Pass it as `observe` of `createRuntime` and as `upkeep.metrics` of `createHandler`, which serves it at `/metrics`. */
export function prometheus(): PrometheusCounts {
  const counts = new Counts()
  const measuring = new Measuring(counts)
  const reader = new RestReader({
    content: false,
    spans: (spans) => measuring.ended(spans),
    dropped: () => measuring.dropped(),
  })
  return {
    observe(observation) {
      measuring.observed(observation)
      if (observation.type === 'rested') reader.add(observation)
    },
    text: () => prometheusText(counts.metrics()),
    flush: () => reader.flush(),
  }
}

const secondBounds = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3_600, 86_400]
const tokenBounds = [16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576]

/** Of one metric. What does not fit is counted in one more. */
const mostSeries = 2_000

type Series<Value> = Map<string, { readonly labels: Labels; value: Value }>
type Buckets = { readonly counts: number[]; sum: number; total: number }

class Counts implements Meters {
  readonly #counters = new Map<string, Series<number>>()
  readonly #histograms = new Map<string, Series<Buckets>>()

  count(counter: keyof typeof counters, labels: Labels): void {
    seriesOf(this.#counters, counter, labels, () => 0).value += 1
  }

  record(histogram: keyof typeof histograms, value: number, labels: Labels): void {
    const bounds = boundsOf(histogram)
    const { value: buckets } = seriesOf(this.#histograms, histogram, labels, () => ({
      counts: bounds.map(() => 0),
      sum: 0,
      total: 0,
    }))
    const index = bounds.findIndex((bound) => value <= bound)
    if (index >= 0) buckets.counts[index]! += 1
    buckets.sum += value
    buckets.total += 1
  }

  metrics(): TextMetric[] {
    const counted = Object.entries(counters).map(([key, { name, description }]): TextMetric => {
      const series = [...(this.#counters.get(key)?.values() ?? [])]
      const samples = series.map(({ labels, value }) => ({ labels: labelsOf(labels), value }))
      return { name: `${nameOf(name)}_total`, type: 'counter', help: description, samples }
    })
    const measured = Object.entries(histograms).map(([key, { name, unit, description }]): TextMetric => {
      const series = [...(this.#histograms.get(key)?.values() ?? [])]
      const samples = series.flatMap(({ labels, value }) => bucketSamples(labelsOf(labels), value, boundsOf(key)))
      return { name: `${nameOf(name)}${unit === 's' ? '_seconds' : ''}`, type: 'histogram', help: description, samples }
    })
    return [...counted, ...measured]
  }
}

function bucketSamples(labels: Labels, { counts, sum, total }: Buckets, bounds: readonly number[]): TextSample[] {
  let below = 0
  const buckets = bounds.map((bound, index) => {
    below += counts[index]!
    return { suffix: '_bucket', labels: { ...labels, le: String(bound) }, value: below }
  })
  return [
    ...buckets,
    { suffix: '_bucket', labels: { ...labels, le: '+Inf' }, value: total },
    { suffix: '_sum', labels, value: sum },
    { suffix: '_count', labels, value: total },
  ]
}

function boundsOf(histogram: string): readonly number[] {
  return histogram === 'tokens' ? tokenBounds : secondBounds
}

function seriesOf<Value>(
  all: Map<string, Series<Value>>,
  name: string,
  labels: Labels,
  fresh: () => Value,
): { readonly labels: Labels; value: Value } {
  const series = all.get(name) ?? new Map()
  all.set(name, series)
  const key = JSON.stringify(labels)
  const found = series.get(key)
  if (found) return found
  if (series.size >= mostSeries && !('other' in labels)) return seriesOf(all, name, { other: 'true' }, fresh)
  const made = { labels, value: fresh() }
  series.set(key, made)
  return made
}

function labelsOf(labels: Labels): Labels {
  return Object.fromEntries(Object.entries(labels).map(([name, value]) => [nameOf(name), value]))
}

function nameOf(name: string): string {
  return name.replaceAll('.', '_')
}
