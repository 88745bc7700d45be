import type { AssistantPart, UserPart } from '../log/events.ts'

/** A finished span, before it is given to OpenTelemetry. Times are those of the log, in milliseconds since 1970. */
export type SpanRecord = {
  readonly operation: string
  readonly name: string
  readonly kind: 'internal' | 'client'
  readonly startAt: number
  readonly endAt: number
  readonly attributes: SpanAttributes
  /** The `error.type`; null where it ended well. */
  readonly error: string | null
  readonly children: readonly SpanRecord[]
}

export type SpanAttributes = Readonly<Record<string, string | number | boolean | readonly string[]>>

/** What was done between two rests, as spans. */
export type Spans = {
  /** The trace of the sender; null where none was recorded. */
  readonly traceparent: string | null
  /** Traces of messages that joined the turn later. */
  readonly links: readonly string[]
  /** The work since the conversation last waited, with its calls. Null when only waits have ended. */
  readonly work: SpanRecord | null
  /** What happened while the turn or session rested: waits for people, child agents. Recorded beside the work, not inside it. */
  readonly beside: readonly SpanRecord[]
}

/** A place in a log at which nothing may run. */
export type Mark = {
  readonly seq: number
  readonly at: number
  /** After it, everything that is open waits. */
  readonly rests: boolean
  readonly isOwners: boolean
  /** It can end a rest. */
  readonly wakes: boolean
}

/** Where the work began that a rest ends: after `afterSeq`, at `startAt`. `heldFrom`: see `Rested`. */
export function stretchOf(
  marks: readonly Mark[],
  heldFrom: number,
): { readonly afterSeq: number; readonly startAt: number } {
  const isToldRest = ({ rests, isOwners, seq }: Mark, index: number): boolean =>
    rests && isOwners && seq <= heldFrom && marks[index + 1]?.wakes === true
  const rest = marks.findLastIndex(isToldRest)
  const woken = rest < 0 ? marks[0] : marks.find(({ rests }, index) => index > rest && !rests)
  return { afterSeq: marks[rest]?.seq ?? 0, startAt: woken?.at ?? marks.at(-1)?.at ?? 0 }
}

export function spanOf(record: Omit<SpanRecord, 'kind' | 'error' | 'children'> & Partial<SpanRecord>): SpanRecord {
  const { startAt, endAt } = record
  // The clocks of two stores, after an import, may disagree.
  return { kind: 'internal', error: null, children: [], ...record, startAt: Math.min(startAt, endAt) }
}

/** Longer values are cut. Exporters refuse, or drop whole batches of, spans that are too large. */
const mostLetters = 16_384

/** The given values as attributes, where the application asked for them; null values are left out. */
export function contentOf(isAsked: boolean, values: Readonly<Record<string, unknown>>): SpanAttributes {
  if (!isAsked) return {}
  const given = Object.entries(values).filter(([, value]) => value !== null && value !== undefined)
  return Object.fromEntries(given.map(([name, value]) => [name, textOf(value)]))
}

/** A message in the form of the semantic conventions, with its texts alone. */
export function messageText(role: 'user' | 'assistant', parts: readonly (UserPart | AssistantPart)[]): unknown {
  const texts = parts.flatMap((part) => (part.type === 'text' ? [{ type: 'text', content: part.text }] : []))
  return [{ role, parts: texts }]
}

function textOf(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > mostLetters ? `${text.slice(0, mostLetters).toWellFormed()}…` : text.toWellFormed()
}
