import type { Observation } from '../engine/observer.ts'
import { type CounterName, type HistogramName, attributes as names, operations, plainName } from './names.ts'
import type { SpanRecord, Spans } from './span-record.ts'

export type Labels = Readonly<Record<string, string>>

/** Where numbers go: to OpenTelemetry, or to a page for Prometheus. Durations are in seconds. */
export type Meters = {
  count(counter: CounterName, labels: Labels): void
  record(histogram: HistogramName, value: number, labels: Labels): void
}

/** The maximum number of values of each attribute; later ones count as `_OTHER`. Models invent names of tools, and every pair of values is a series. */
const mostValues = 200

/** Makes numbers of what a process observes. */
export class Measuring {
  readonly #meters: Meters
  readonly #known = new Map<string, Set<string>>()

  constructor(meters: Meters) {
    this.#meters = meters
  }

  observed(observation: Observation): void {
    switch (observation.type) {
      case 'turn_begun':
        this.#record('queue', observation.waitedMs, { [names.agent]: observation.name })
        return
      case 'lease_lost':
        this.#meters.count('leasesLost', {})
        return
      case 'model_attempted':
        this.#attempted(observation)
        return
      case 'committed':
        for (const event of observation.events) {
          if (event.type === 'turn_ended')
            this.#count('turns', { [names.agent]: observation.name, [names.status]: event.content.status })
          if (event.type === 'flow_ended')
            this.#count('sessions', { [names.workflow]: observation.name, [names.status]: event.content.status })
        }
        return
      case 'rested':
        return
    }
  }

  /** Durations, of spans that have ended. */
  ended({ work, beside }: Spans): void {
    if (work) this.#span(work)
    for (const span of beside) this.#span(span)
  }

  dropped(): void {
    this.#meters.count('dropped', {})
  }

  #span(span: SpanRecord): void {
    const ms = span.endAt - span.startAt
    const error = span.error === null ? {} : { [names.errorType]: span.error }
    switch (span.operation) {
      case operations.turn:
        this.#record('turn', ms, { [names.agent]: span.name, ...error })
        break
      case operations.session:
        this.#record('session', ms, { [names.workflow]: span.name, ...error })
        break
      case operations.tool:
        this.#record('tool', ms, { [names.tool]: span.name, ...error })
        this.#count('tools', { [names.tool]: span.name, ...error })
        break
      case operations.wait:
        this.#record('wait', ms, { [names.waitKind]: String(span.attributes[names.waitKind] ?? '') })
        break
    }
    for (const child of span.children) this.#span(child)
  }

  #attempted({ attempt }: Extract<Observation, { type: 'model_attempted' }>): void {
    const { model, status, latencyMs, timeToFirstTokenMs, usage } = attempt
    const labels = {
      [names.operation]: operations.model,
      [names.provider]: model.provider,
      [names.requestModel]: model.modelId,
    }
    const error = status === 'failed' ? { [names.errorType]: 'model_failed' } : {}
    this.#record('model', latencyMs, { ...labels, ...error })
    if (timeToFirstTokenMs !== null) this.#record('firstChunk', timeToFirstTokenMs, labels)
    if (attempt.attempt > 1) this.#count('retries', labels)
    for (const [type, tokens] of [['input', usage.inputTokens] as const, ['output', usage.outputTokens] as const]) {
      if (tokens !== undefined)
        this.#meters.record('tokens', tokens, this.#bounded({ ...labels, [names.tokenType]: type }))
    }
  }

  #count(counter: CounterName, labels: Labels): void {
    this.#meters.count(counter, this.#bounded(labels))
  }

  #record(histogram: HistogramName, ms: number, labels: Labels): void {
    this.#meters.record(histogram, Math.max(0, ms) / 1_000, this.#bounded(labels))
  }

  #bounded(labels: Labels): Labels {
    return Object.fromEntries(Object.entries(labels).map(([name, value]) => [name, this.#boundedValue(name, value)]))
  }

  #boundedValue(name: string, given: string): string {
    const value = plainName(given)
    const known = this.#known.get(name) ?? new Set()
    this.#known.set(name, known)
    if (known.has(value)) return value
    if (known.size >= mostValues) return '_OTHER'
    known.add(value)
    return value
  }
}
