import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import { type TelemetryOptions, telemetry } from '../../src/telemetry/index.ts'

/** Telemetry of one process, with the real SDK, and what it exported. */
export async function collectedTelemetry(options: TelemetryOptions = {}) {
  const exporter = new InMemorySpanExporter()
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  const metrics = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter: metrics, exportIntervalMillis: 3_600_000 })
  const meterProvider = new MeterProvider({ readers: [reader] })
  const observe = await telemetry({ tracerProvider, meterProvider, ...options })
  return {
    observe,
    /** Everything that was exported, in the order of its end. */
    async spans(): Promise<ReadableSpan[]> {
      await observe.flush()
      await tracerProvider.forceFlush()
      return exporter.getFinishedSpans()
    },
    /** The last value of each series: a number, or what a histogram has counted. */
    async metrics(): Promise<Record<string, { readonly attributes: object; readonly value: unknown }[]>> {
      await observe.flush()
      await meterProvider.forceFlush()
      const scopes = metrics.getMetrics().at(-1)?.scopeMetrics ?? []
      return Object.fromEntries(
        scopes
          .flatMap((scope) => scope.metrics)
          .map(({ descriptor, dataPoints }) => [
            descriptor.name,
            dataPoints.map(({ attributes, value }) => ({ attributes, value })),
          ]),
      )
    },
  }
}

/** The spans as lines: each below its parent, indented. Siblings are sorted by name: what begins in one millisecond has no order. */
export function treeOf(spans: readonly ReadableSpan[]): string[] {
  const ids = new Set(spans.map((span) => span.spanContext().spanId))
  const below = (parent: string | null, depth: number): string[] =>
    spans
      .filter(({ parentSpanContext }) =>
        parent === null ? !ids.has(parentSpanContext?.spanId ?? '') : parentSpanContext?.spanId === parent,
      )
      .sort((one, other) => (one.name < other.name ? -1 : Number(one.name > other.name)))
      .flatMap((span) => [`${'  '.repeat(depth)}${span.name}`, ...below(span.spanContext().spanId, depth + 1)])
  return below(null, 0)
}

export function millisOf([seconds, nanos]: readonly [number, number]): number {
  return seconds * 1_000 + nanos / 1_000_000
}
