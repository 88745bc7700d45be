import { isTraceparent } from '../base/traceparent.ts'
import type { Rested } from '../engine/observer.ts'
import type { EventOf, FlowOp, LogEvent } from '../log/events.ts'
import { isQuestion } from '../log/flow-questions.ts'
import { attributes as names, operations, plainName } from './names.ts'
import {
  contentOf,
  type Mark,
  type SpanAttributes,
  type SpanRecord,
  type Spans,
  spanOf,
  stretchOf,
} from './span-record.ts'
import { turnSpans } from './turn-spans.ts'

/** Of a longer turn or session, only this many of the newest events are read, and the first. */
const mostEvents = 2_000
/** The same in bytes: a log may be larger than the memory of the process. */
const mostBytes = 4 * 1024 * 1024
const mostRows = 1_000

/** How many logs are read at once, and how many wait for it. Beyond that, a turn has no spans: telemetry must not slow down what it watches. */
const atOnce = 4
const mostWaiting = 1_000

type Told = {
  readonly content: boolean
  readonly spans: (spans: Spans) => void
  readonly dropped: (error: unknown) => void
}

/** Reads the logs of turns and sessions that have ended or wait, afterwards and a few at a time. */
export class RestReader {
  readonly #told: Told
  readonly #waiting: Rested[] = []
  readonly #reading = new Set<Promise<void>>()

  constructor(told: Told) {
    this.#told = told
  }

  add(rested: Rested): void {
    if (this.#waiting.length >= mostWaiting) return this.#told.dropped(new Error('too many logs wait to be read'))
    this.#waiting.push(rested)
    this.#next()
  }

  /** Resolves when everything that was added has been read. */
  async flush(): Promise<void> {
    while (this.#reading.size > 0) await Promise.all(this.#reading)
  }

  #next(): void {
    if (this.#reading.size >= atOnce) return
    const rested = this.#waiting.shift()
    if (!rested) return
    const reading = this.#read(rested).finally(() => {
      this.#reading.delete(reading)
      this.#next()
    })
    this.#reading.add(reading)
  }

  /** Does not reject. */
  async #read(rested: Rested): Promise<void> {
    try {
      this.#told.spans(await readSpans(rested, this.#told.content))
    } catch (error) {
      this.#told.dropped(error)
    }
  }
}

async function readSpans(rested: Rested, content: boolean): Promise<Spans> {
  const { ref, name, turnId, heldFrom } = rested
  const events = await eventsOf(rested)
  if (turnId === null) return sessionSpans({ ref, flow: name, events, heldFrom, content })
  // Its rows are in the order of their names, which begin with the id of the turn.
  const calls = await rested.store.modelCalls(ref.id, {
    from: `${turnId}/`,
    contexts: false,
    limit: mostRows,
    maxBytes: mostBytes,
  })
  return turnSpans({ ref, agent: name, turnId, events, calls, heldFrom, content })
}

async function eventsOf({ ref, store, firstSeq, lastSeq }: Rested): Promise<LogEvent[]> {
  const after = Math.max(firstSeq - 1, lastSeq - mostEvents)
  const newest = await store.streamEvents(ref.id, { after, before: lastSeq + 1, maxBytes: mostBytes })
  if (newest[0]?.seq === firstSeq) return newest
  return [...(await store.streamEvents(ref.id, { after: firstSeq - 1, before: firstSeq + 1 })), ...newest]
}

type SessionLog = {
  readonly ref: { readonly tenant: string; readonly id: string }
  readonly flow: string
  readonly events: readonly LogEvent[]
  readonly heldFrom: number
  readonly content: boolean
}

type Opened = { readonly op: FlowOp; readonly at: number }

/** The spans of what a session did since its last rest. Pure. */
function sessionSpans({ ref, flow, events, heldFrom, content }: SessionLog): Spans {
  const common: SpanAttributes = {
    [names.workflow]: plainName(flow),
    [names.conversation]: ref.id,
    [names.session]: ref.id,
    [names.tenant]: ref.tenant,
  }
  const open = new Map<number, Opened>()
  const marks: Mark[] = []
  const found: { readonly seq: number; readonly span: SpanRecord }[] = []
  let traceparent: string | null = null
  let end: EventOf<'flow_ended'> | null = null
  for (const event of events) {
    let isAnswer = false
    if (event.type === 'flow_started' && isTraceparent(event.content.traceparent))
      traceparent = event.content.traceparent
    if (event.type === 'flow_opened') open.set(event.content.position, { op: event.content.op, at: event.at })
    if (event.type === 'flow_continued') open.clear()
    if (event.type === 'flow_ended') end = event
    if (event.type === 'flow_outcome') {
      const opened = open.get(event.content.position)
      open.delete(event.content.position)
      isAnswer = opened !== undefined && isQuestion(opened.op)
      const span = opened && operationSpan(opened, event, common, content)
      if (span) found.push({ seq: event.seq, span })
    }
    const rests = !end && open.size > 0 && [...open.values()].every(({ op }) => op.kind !== 'step')
    const { seq, at, type } = event
    marks.push({ seq, at, rests, isOwners: !isAnswer, wakes: type === 'flow_outcome' })
  }
  const { afterSeq, startAt } = stretchOf(marks, heldFrom)
  const spans = found.filter(({ seq }) => seq > afterSeq).map(({ span }) => span)
  const beside = spans.filter((span) => span.operation === operations.wait || span.startAt < startAt)
  const children = spans.filter((span) => !beside.includes(span))
  const started = events[0]?.type === 'flow_started' ? events[0].content.input : null
  const status = end?.content.status ?? 'waiting'
  const told = {
    [names.inputMessages]: started,
    [names.outputMessages]: end?.content.status === 'done' ? end.content.result : null,
  }
  const work = spanOf({
    operation: operations.session,
    name: plainName(flow),
    startAt,
    endAt: events.at(-1)?.at ?? startAt,
    children,
    error: status === 'failed' ? 'failed' : null,
    attributes: { ...common, [names.status]: status, ...contentOf(content, told) },
  })
  return { traceparent, links: [], work, beside }
}

/** Null for what takes no time of its own, and for agents, whose turns have spans. */
function operationSpan(
  { op, at: startAt }: Opened,
  { at: endAt, content }: EventOf<'flow_outcome'>,
  common: SpanAttributes,
  isContentAsked: boolean,
): SpanRecord | null {
  if (isQuestion(op)) {
    const name = plainName(op.kind === 'request' ? op.request : 'suspend')
    const attributes = { ...common, [names.waitKind]: op.kind }
    return spanOf({ operation: operations.wait, name, startAt, endAt, attributes })
  }
  if (op.kind !== 'step') return null
  const told = contentOf(isContentAsked, {
    [names.toolArguments]: op.input,
    [names.toolResult]: content.ok ? content.value : null,
  })
  return spanOf({
    operation: operations.step,
    name: plainName(op.name),
    startAt,
    endAt,
    error: content.ok ? null : 'step_failed',
    attributes: { ...common, [names.step]: plainName(op.name), ...told },
  })
}
