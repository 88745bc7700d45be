import type {
  Context,
  Histogram,
  Meter,
  MeterProvider,
  Counter as OtelCounter,
  SpanContext,
  Tracer,
  TracerProvider,
} from '@opentelemetry/api'
import { DefinitionError } from '../base/errors/definition-errors.ts'
import { unknownKeys } from '../base/errors/read-options.ts'
import { MissingDependencyError } from '../base/errors/store-errors.ts'
import { isTraceparent } from '../base/traceparent.ts'
import type { Observer } from '../engine/observer.ts'
import type { Store } from '../store/store.ts'
import { gaugesOf } from '../upkeep/metrics.ts'
import { Measuring, type Meters } from './measure.ts'
import { counters, gauges, histograms, attributes as names, operations, plainName, scopeName } from './names.ts'
import { RestReader } from './rest-reader.ts'
import type { SpanRecord, Spans } from './span-record.ts'

/** What `telemetry` takes. */
export type TelemetryOptions = {
  /** Where spans go. Default: the one that was registered with `@opentelemetry/api`. */
  readonly tracerProvider?: TracerProvider
  /** Where metrics go. Default: the one that was registered with `@opentelemetry/api`. */
  readonly meterProvider?: MeterProvider
  /** Whether spans have what was said: messages, and arguments and results of tools. Each value is cut at 16,384 characters. Default: false. */
  readonly content?: boolean
  /** Whose inbox, deadlines and leases are measured, of all tenants, each time metrics are collected. Give it to one process of a fleet. Default: none. */
  readonly store?: GaugedStore
}

/** An observer for `createRuntime`. */
export type Telemetry = Observer & {
  /** Resolves when the spans of all turns and sessions that have ended or wait were given to OpenTelemetry. Call it after `runtime.close()`, before its SDK is shut down. */
  flush(): Promise<void>
}

type Api = typeof import('@opentelemetry/api')

/** Spans and metrics for OpenTelemetry. Pass it as `observe` of `createRuntime`. Rejects with `MissingDependencyError` without `@opentelemetry/api`. */
export async function telemetry(options: TelemetryOptions = {}): Promise<Telemetry> {
  const problems = unknownKeys(options, ['tracerProvider', 'meterProvider', 'content', 'store'])
  if (problems.length > 0) throw new DefinitionError('telemetry()', problems)
  const api: Api = await import('@opentelemetry/api').catch((cause: unknown) => {
    throw new MissingDependencyError('@opentelemetry/api', 'telemetry()', cause)
  })
  const { content = false, store, tracerProvider = api.trace, meterProvider = api.metrics } = options
  const tracer = tracerProvider.getTracer(scopeName)
  const meter = meterProvider.getMeter(scopeName)
  const measuring = new Measuring(metersOf(meter))
  if (store) storeGauges(meter, store)
  const reader = new RestReader({
    content,
    spans: (spans) => {
      measuring.ended(spans)
      emit(spans, api, tracer)
    },
    dropped: (error) => {
      measuring.dropped()
      api.diag.warn('perdure: spans are missing, because a log was not read', error)
    },
  })
  return {
    observe(observation) {
      measuring.observed(observation)
      if (observation.type === 'rested') reader.add(observation)
    },
    traceparent: (given, to) =>
      given ?? headerOf(api.trace.getActiveSpan()?.spanContext()) ?? sendSpan(api, tracer, to),
    flush: () => reader.flush(),
  }
}

/** Where no trace is active, sending begins one: it is over at once, and everything that is done for the message, in any process, is below it. */
function sendSpan(
  { SpanKind }: Api,
  tracer: Tracer,
  { kind, name }: Parameters<NonNullable<Observer['traceparent']>>[1],
): string | undefined {
  const named = { [kind === 'agent' ? names.agent : names.workflow]: plainName(name) }
  const attributes = { [names.operation]: operations.send, ...named }
  const span = tracer.startSpan(`${operations.send} ${plainName(name)}`, {
    kind: SpanKind.PRODUCER,
    root: true,
    attributes,
  })
  span.end()
  return headerOf(span.spanContext())
}

function headerOf(context: SpanContext | undefined): string | undefined {
  if (!context) return undefined
  const flags = (context.traceFlags & 0xff).toString(16).padStart(2, '0')
  const header = `00-${context.traceId}-${context.spanId}-${flags}`
  return isTraceparent(header) ? header : undefined
}

function contextOf(traceparent: string): SpanContext {
  const [, traceId, spanId, flags] = traceparent.split('-') as [string, string, string, string]
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true }
}

/** Everything is over: each span is begun and ended here, with the times of the log. */
function emit({ traceparent, links, work, beside }: Spans, api: Api, tracer: Tracer): void {
  const sender = traceparent === null ? null : api.trace.setSpanContext(api.ROOT_CONTEXT, contextOf(traceparent))
  const linked = links.map((link) => ({ context: contextOf(link) }))
  const worked = work && record(work, sender ?? api.ROOT_CONTEXT, api, tracer, linked)
  for (const span of beside) record(span, sender ?? worked ?? api.ROOT_CONTEXT, api, tracer)
}

function record(
  { operation, name, kind, startAt, endAt, attributes, error, children }: SpanRecord,
  parent: Context,
  api: Api,
  tracer: Tracer,
  links: readonly { readonly context: SpanContext }[] = [],
): Context {
  const span = tracer.startSpan(
    `${operation} ${name}`,
    {
      kind: kind === 'client' ? api.SpanKind.CLIENT : api.SpanKind.INTERNAL,
      // A Date: small numbers would be taken for times since the process began.
      startTime: new Date(startAt),
      attributes: {
        [names.operation]: operation,
        ...(attributes as Record<string, string>),
        ...(error === null ? {} : { [names.errorType]: error }),
      },
      links: [...links],
    },
    parent,
  )
  const context = api.trace.setSpan(parent, span)
  for (const child of children) record(child, context, api, tracer)
  if (error !== null) span.setStatus({ code: api.SpanStatusCode.ERROR })
  span.end(new Date(endAt))
  return context
}

function metersOf(meter: Meter): Meters {
  const made = {
    counters: new Map<string, OtelCounter>(),
    histograms: new Map<string, Histogram>(),
  }
  for (const [key, { name, unit, description }] of Object.entries(counters))
    made.counters.set(key, meter.createCounter(name, { unit, description }))
  for (const [key, { name, unit, description }] of Object.entries(histograms))
    made.histograms.set(key, meter.createHistogram(name, { unit, description }))
  return {
    count: (counter, labels) => made.counters.get(counter)?.add(1, labels),
    record: (histogram, value, labels) => made.histograms.get(histogram)?.record(value, labels),
  }
}

/** A store that offers figures, as those of Perdure do. */
export type GaugedStore = Pick<Store, 'upkeep'>

/** Measures a whole store when metrics are collected. A store that fails then is not measured. */
function storeGauges(meter: Meter, store: GaugedStore): void {
  const keys = Object.keys(gauges) as (keyof typeof gauges)[]
  const made = Object.values(gauges).map(({ name, unit, description }) =>
    meter.createObservableGauge(name, { unit, description }),
  )
  meter.addBatchObservableCallback(async (result) => {
    const figures = await store.upkeep?.figures?.(1)
    if (!figures) return
    const values = gaugesOf(figures)
    for (const [index, key] of keys.entries()) result.observe(made[index]!, values[key])
  }, made)
}
