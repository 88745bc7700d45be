import type { LogEvent, ModelCallSummary, View } from 'perdure/client'
import { type AttemptSpan, attemptSpans } from './attempts.ts'

/** What a stretch of time was spent on. `wait`: for a person or a page. `hooks`: hooks, and putting the prompt together. */
export type SpanKind = 'queue' | 'hooks' | 'model' | 'tool' | 'wait' | 'child'

export type SpanStatus = 'ok' | 'failed' | 'cancelled' | 'unknown' | 'denied' | 'expired' | 'running'

/** One bar of the timeline. */
export type Span = {
  readonly kind: SpanKind
  readonly name: string
  readonly from: number
  /** Null while it goes on. */
  readonly to: number | null
  readonly status: SpanStatus
  /** The event that a click selects. */
  readonly seq: number
  readonly firstTokenAt?: number
  /** Nothing in the log is about it: it is what lies between two others. */
  readonly isGap?: true
  /** The model call, where the audit has it. */
  readonly turnRef?: string
  /** The child conversation's call. */
  readonly callId?: string
  /** Who answered, which attempt it was, or why it ended. */
  readonly detail?: string
}

/** Something that happened at one moment. `isUnknown`: this version does not know the type. */
export type Mark = { readonly seq: number; readonly at: number; readonly label: string; readonly isUnknown?: true }

/** A turn on the timeline. */
export type TurnSpans = {
  readonly turnId: string
  readonly seq: number
  readonly lastSeq: number
  readonly from: number
  readonly to: number | null
  readonly status: 'queued' | 'running' | 'waiting' | 'completed' | 'cancelled' | 'failed' | 'halted'
  readonly reason: string | null
  /** The text that began it. */
  readonly said: string
  readonly who: string
  /** The event that replaced the turn by another. */
  readonly supersededAt?: number
  /** The turn began before the events that are loaded. */
  readonly isCut?: true
  readonly spans: readonly Span[]
  readonly marks: readonly Mark[]
}

/**
 * The turns of a stretch of a log, oldest first. `calls`: the audit, where it may be read; a call that ended after `until` still goes on. Events without a turn are
 * marks of the turn around them.
 */
export function turnSpans(
  events: readonly LogEvent[],
  calls: readonly ModelCallSummary[],
  until = Number.POSITIVE_INFINITY,
): TurnSpans[] {
  const folding = new Folding(events, calls, until)
  for (const event of events) folding.take(event)
  return folding.turns()
}

/** The turns with the open one in the phase of the conversation: whether a child agent works or waits, only the view knows. */
export function withPhase(turns: readonly TurnSpans[], phase: View['phase'] | null): TurnSpans[] {
  if (phase !== 'waiting' && phase !== 'running') return [...turns]
  return turns.map((turn) =>
    turn.status === 'running' || turn.status === 'waiting' ? { ...turn, status: phase } : turn,
  )
}

type Open = { -readonly [Key in keyof Span]: Span[Key] }

type Turn = Omit<{ -readonly [Key in keyof TurnSpans]: TurnSpans[Key] }, 'spans' | 'marks'> & {
  spans: Open[]
  marks: Mark[]
  isOpened: boolean
  /** Since when the next model call is prepared. */
  readyAt: number
  step: number
}

type Call = { readonly name: string; readonly turn: Turn; readonly seq: number; running?: Open | undefined }

class Folding {
  readonly #turns = new Map<string, Turn>()
  readonly #calls = new Map<string, Call>()
  readonly #regenerated: ReadonlySet<string>
  readonly #attempts: ReadonlyMap<string, readonly AttemptSpan[]>
  readonly #shown = new Set<string>()
  readonly #until: number
  #current: Turn | undefined

  constructor(events: readonly LogEvent[], calls: readonly ModelCallSummary[], until: number) {
    this.#until = until
    this.#attempts = attemptSpans(calls)
    this.#regenerated = new Set(
      events.flatMap((event) => (event.type === 'regeneration' ? [event.content.messageId] : [])),
    )
  }

  turns(): TurnSpans[] {
    this.#addMissedAttempts()
    return [...this.#turns.values()].map(({ isOpened: _, readyAt: __, step: ___, ...turn }) => {
      const isWaiting = turn.status === 'running' && turn.spans.some(({ kind, to }) => kind === 'wait' && to === null)
      const isBusy = turn.spans.some(({ kind, to }) => to === null && kind !== 'wait' && kind !== 'child')
      const spans = withGaps(turn).sort((one, other) => one.from - other.from || one.seq - other.seq)
      return { ...turn, status: isWaiting && !isBusy ? 'waiting' : turn.status, spans }
    })
  }

  take(event: LogEvent): void {
    const { seq, at } = event
    const turn = this.#turnOf(event)
    if (turn) turn.lastSeq = seq
    switch (event.type) {
      case 'user_msg':
        return this.#said(event)
      case 'assistant_msg':
        return this.#written(event)
      case 'tool_call': {
        const { callId, name, turnId } = event.content
        this.#calls.set(callId, { name, seq, turn: this.#turn(turnId, event) })
        return
      }
      case 'tool_started': {
        const call = this.#call(event.content.callId, event)
        const { attempt } = event.content
        if (call.running) Object.assign(call.running, { to: at, status: 'unknown', detail: 'interrupted' })
        call.running = this.#open(call.turn, 'tool', call.name, event)
        if (attempt > 1) call.running.detail = `attempt ${attempt}`
        return
      }
      case 'tool_result': {
        const call = this.#call(event.content.callId, event)
        const { ok, outcome } = event.content
        const ended = call.running ?? this.#open(call.turn, 'tool', call.name, event)
        ended.to = at
        ended.status = outcome ? 'unknown' : ok ? 'ok' : 'failed'
        call.running = undefined
        call.turn.readyAt = at
        return
      }
      case 'suspension': {
        const { callId, kind } = event.content
        const call = this.#call(callId, event)
        call.running = this.#open(call.turn, kind === 'sub_agent' ? 'child' : 'wait', call.name, event)
        call.running.callId = callId
        call.running.detail = waitsFor[kind] ?? kind
        return
      }
      case 'resolution': {
        const { callId, status, who } = event.content
        const call = this.#call(callId, event)
        const waited = call.running ?? this.#open(call.turn, 'wait', call.name, event)
        waited.to = at
        waited.status = status === 'resolved' ? 'ok' : status
        waited.detail = `${status === 'resolved' ? 'answered' : status} by ${who}`
        call.running = undefined
        call.turn.readyAt = at
        return
      }
      case 'turn_ended':
        return this.#ended(event)
      case 'superseded':
        for (const replaced of this.#turns.values())
          if (replaced.seq >= event.content.fromSeq && replaced.seq < seq) replaced.supersededAt ??= seq
        return this.#mark(event, 'replaces what came before')
      case 'injection':
        Object.assign(this.#open(this.#turn(event.content.turnId, event), 'hooks', event.content.hook, event), {
          to: at,
          status: 'ok',
        })
        return
      default:
        return this.#mark(event, marks[event.type] ?? event.type, event.type in marks ? {} : { isUnknown: true })
    }
  }

  #said(event: Extract<LogEvent, { type: 'user_msg' }>): void {
    const { seq, at, content } = event
    const known = this.#turns.get(content.turnId)
    if (known) {
      known.readyAt = Math.max(known.readyAt, at)
      return this.#mark(event, 'message', {}, known)
    }
    const turn = this.#turn(content.turnId, event)
    delete turn.isCut
    turn.said = textOf(content.message.parts)
    turn.who = content.who
    const before = this.#current
    if (before && before !== turn && before.to === null && before.isOpened) {
      turn.status = 'queued'
      turn.isOpened = false
      this.#open(turn, 'queue', 'queued', { seq, at })
    } else this.#current = turn
  }

  #written(event: Extract<LogEvent, { type: 'assistant_msg' }>): void {
    const { seq, at, content } = event
    const turn = this.#turn(content.turnId, event)
    const turnRef = `${content.turnId}/${String(turn.step).padStart(4, '0')}`
    const attempts = this.#attempts.get(turnRef) ?? []
    const name = content.model.modelId
    const status = content.status === 'complete' ? 'ok' : content.status
    if (attempts.length === 0) {
      turn.spans.push({ kind: 'model', name, from: turn.readyAt, to: at, status, seq })
    } else if (!this.#shown.has(turnRef)) {
      this.#shown.add(turnRef)
      for (const attempt of attempts) turn.spans.push({ ...attempt, kind: 'model', seq })
    }
    if (!this.#regenerated.has(content.messageId)) turn.step += 1
    turn.readyAt = at
  }

  #ended({ seq, at, content }: Extract<LogEvent, { type: 'turn_ended' }>): void {
    const turn = this.#turn(content.turnId, { seq, at })
    turn.to = at
    turn.status = content.status
    turn.reason = content.reason
    turn.lastSeq = seq
    for (const span of turn.spans) if (span.to === null) Object.assign(span, { to: at, status: 'cancelled' })
    if (this.#current !== turn) return
    this.#current = [...this.#turns.values()].find(({ to, isOpened }) => to === null && !isOpened)
    if (!this.#current) return
    const waited = this.#current.spans.find(({ kind, to }) => kind === 'queue' && to === null)
    if (waited) Object.assign(waited, { to: at, status: 'ok' })
    Object.assign(this.#current, { isOpened: true, status: 'running', readyAt: at })
  }

  /** Model calls that no message came of, and those of summaries and titles: in the turn around them. */
  #addMissedAttempts(): void {
    for (const [turnRef, attempts] of this.#attempts) {
      if (this.#shown.has(turnRef)) continue
      const own = this.#turns.get(turnRef.slice(0, turnRef.lastIndexOf('/')))
      const aside = /^(summary|title)\//.exec(turnRef)?.[1]
      for (const attempt of attempts) {
        const around = [...this.#turns.values()].findLast(
          ({ from, to }) => from <= attempt.to && (to ?? Infinity) >= attempt.from,
        )
        const turn = own ?? (aside === undefined ? undefined : around)
        if (turn) turn.spans.push({ ...this.#known(attempt), name: aside ?? attempt.name, seq: turn.lastSeq })
        // Another attempt follows when this one has ended.
        if (attempt.to > this.#until) break
      }
    }
  }

  /** What is known of an attempt at the moment that is shown. */
  #known(attempt: AttemptSpan): Omit<Open, 'seq'> {
    if (attempt.to <= this.#until) return { ...attempt, kind: 'model' }
    const { name, from, turnRef } = attempt
    return {
      kind: 'model',
      name,
      from: Math.min(from, this.#until),
      to: null,
      status: 'running',
      ...(turnRef === undefined ? {} : { turnRef }),
    }
  }

  #turnOf({ content }: LogEvent): Turn | undefined {
    const { turnId, callId } = Object(content) as { turnId?: string; callId?: string }
    return this.#turns.get(turnId ?? '') ?? this.#calls.get(callId ?? '')?.turn
  }

  #turn(turnId: string, { seq, at }: Pick<LogEvent, 'seq' | 'at'>): Turn {
    const known = this.#turns.get(turnId)
    if (known) return known
    const turn: Turn = {
      turnId,
      seq,
      lastSeq: seq,
      from: at,
      to: null,
      status: 'running',
      reason: null,
      said: '',
      who: '',
      isCut: true,
      spans: [],
      marks: [],
      isOpened: true,
      readyAt: at,
      step: 0,
    }
    this.#turns.set(turnId, turn)
    this.#current ??= turn
    return turn
  }

  /** A call from before the loaded events belongs to the turn that was open then. */
  #call(callId: string, event: LogEvent): Call {
    const known = this.#calls.get(callId)
    if (known) return known
    const turn = this.#current ?? this.#turn('', event)
    const call = { name: 'call', turn, seq: event.seq }
    this.#calls.set(callId, call)
    return call
  }

  #open(turn: Turn, kind: SpanKind, name: string, { seq, at }: Pick<LogEvent, 'seq' | 'at'>): Open {
    const span: Open = { kind, name, from: at, to: null, status: 'running', seq }
    turn.spans.push(span)
    turn.lastSeq = Math.max(turn.lastSeq, seq)
    return span
  }

  #mark(event: LogEvent, label: string, more: { isUnknown?: true } = {}, turn?: Turn): void {
    const { seq, at } = event
    const around = turn ?? this.#turnOf(event) ?? this.#current ?? [...this.#turns.values()].at(-1)
    ;(around ?? this.#turn('', event)).marks.push({ seq, at, label, ...more })
  }
}

const shortestGapMs = 5
/** Shorter gaps than this part of the turn's work could not be seen. */
const leastShare = 0.02

const gap = { kind: 'hooks', name: 'hooks', status: 'ok', isGap: true } as const

/** Time of a turn in which nothing else is known to go on: hooks ran, and the prompt was put together. */
function withGaps({ spans, from, to, seq }: Pick<Turn, 'spans' | 'from' | 'to' | 'seq'>): Open[] {
  const sorted = spans.filter(({ kind }) => kind !== 'hooks').sort((one, other) => one.from - other.from)
  const gaps: Open[] = []
  const work = sorted.filter(({ kind }) => kind === 'model' || kind === 'tool')
  const workMs = work.reduce((sum, span) => sum + (span.to ?? span.from) - span.from, 0)
  const shortest = Math.max(shortestGapMs, workMs * leastShare)
  let covered = from
  for (const span of [...sorted, ...(to === null ? [] : [{ from: to, to, seq }])]) {
    if (span.from - covered > shortest) gaps.push({ ...gap, from: covered, to: span.from, seq: span.seq ?? seq })
    covered = Math.max(covered, span.to ?? Number.POSITIVE_INFINITY)
  }
  return [...spans, ...gaps]
}

function textOf(parts: readonly { readonly type: string; readonly text?: string }[]): string {
  return parts
    .map(({ text = '' }) => text)
    .join(' ')
    .trim()
    .slice(0, 200)
}

const waitsFor: Readonly<Record<string, string>> = {
  approval: 'waits for approval',
  elicitation: 'waits for an answer',
  client_exec: 'waits for the page',
  sub_agent: 'child agent',
  recovery: 'waits for a decision about an interrupted call',
}

const marks: Readonly<Record<string, string>> = {
  regeneration: 'message sent back by a hook',
  withheld: 'message withheld',
  attempt_discarded: 'attempt broke off',
  deadline_moved: 'deadline moved',
  halted_by: 'tool halts the turn',
  tool_asked: 'tool asks',
  scope_missing: 'waits for a scope',
  state_set: 'state set',
  state_refused: 'state refused',
  cancel_requested: 'cancel requested',
  titled: 'titled',
  note: 'note',
  seeded: 'seeded',
  restored: 'restored',
}
