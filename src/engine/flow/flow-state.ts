import { EventInvalidError, EventUnknownError } from '../../base/errors/log-errors.ts'
import type { Json, JsonObject } from '../../base/json.ts'
import type { Redact } from '../../base/redact/redactor.ts'
import type { EventOf, FlowEnded, FlowOpened, FlowOutcome, LogEvent, NewEvent } from '../../log/events.ts'
import { isQuestion, type QuestionOp, shortName, tagOf } from '../../log/flow-questions.ts'
import type { OnIgnored } from '../../log/fold-events.ts'
import { isKnownType } from '../../log/validate-event.ts'
import type { ConversationRecord } from '../../store/records.ts'

/** What the log of a session folds to: the record that its flow is replayed against. Plain JSON; must be treated as immutable. */
export type FlowState = {
  readonly lastSeq: number
  readonly flow: string
  readonly version: string
  readonly input: Json
  readonly who: string
  /** How often it went on with a fresh record. */
  readonly generation: number
  /** By position, from 1 without gaps. */
  readonly ops: readonly RecordedOp[]
  /** In the order they came. */
  readonly outcomes: readonly RecordedOutcome[]
  readonly ended: FlowEnded | null
  /** Something was left out of it to keep it small: it can be shown, but no code can be replayed against it. See `trimFlow`. */
  readonly isTrimmed?: boolean
}

export type RecordedOp = FlowOpened & Recorded

export type RecordedOutcome = FlowOutcome & Recorded

/** `leftOut`: how many bytes of it are missing; the event at `seq` has them. */
type Recorded = { readonly seq: number; readonly at: number; readonly leftOut?: number }

/**
 * Null for a log that no `flow_started` begins: it is not that of a session. An event that makes no sense after those before it changes nothing, and
 * `onIgnored` is told. Throws on an event of a type it does not know.
 */
export function foldFlow(
  events: Iterable<LogEvent>,
  base: FlowState | null = null,
  onIgnored: OnIgnored = () => {},
): FlowState | null {
  let fold = base && foldOf(base)
  for (const event of events) {
    if (!fold) {
      if (event.seq !== 1) throw new EventInvalidError(event, 'the log has a gap before it')
      if (event.type !== 'flow_started') return null
      fold = started(event)
    } else if (event.seq > fold.lastSeq) apply(fold, event, onIgnored)
  }
  if (!fold) return null
  const { settled: _, ...state } = fold
  return state
}

type Fold = { -readonly [Key in keyof FlowState]: FlowState[Key] } & {
  ops: RecordedOp[]
  outcomes: RecordedOutcome[]
  settled: Set<number>
}

/** Copies once, so that folding n events costs n. */
function foldOf(state: FlowState): Fold {
  const settled = new Set(state.outcomes.map(({ position }) => position))
  return { ...state, ops: [...state.ops], outcomes: [...state.outcomes], settled }
}

function apply(fold: Fold, event: LogEvent, onIgnored: OnIgnored): void {
  if (event.seq !== fold.lastSeq + 1) throw new EventInvalidError(event, 'the log has a gap before it')
  const misfit = misfitOf(fold, event)
  fold.lastSeq = event.seq
  if (misfit !== null) return onIgnored(event, misfit)
  switch (event.type) {
    case 'flow_opened':
      fold.ops.push({ ...event.content, seq: event.seq, at: event.at })
      return
    case 'flow_outcome':
      fold.settled.add(event.content.position)
      fold.outcomes.push({ ...event.content, seq: event.seq, at: event.at })
      return
    case 'flow_continued':
      Object.assign(fold, event.content, { generation: fold.generation + 1, ops: [], outcomes: [], settled: new Set() })
      return
    case 'flow_ended':
      fold.ended = event.content
      return
  }
}

/** Why an event has no place in the record, as the end of a sentence that begins with "it"; null where it has one. */
function misfitOf({ ops, settled, ended }: Fold, event: LogEvent): string | null {
  switch (event.type) {
    case 'titled':
    case 'note':
      return null
    case 'flow_started':
      return 'starts a session that has begun'
    case 'flow_opened':
    case 'flow_outcome':
    case 'flow_continued':
    case 'flow_ended':
      if (ended) return 'comes after the end of the session'
      break
    default:
      if (!isKnownType(event.type)) throw new EventUnknownError(event)
      return 'is of a conversation, in the log of a session'
  }
  if (event.type === 'flow_opened' && event.content.position !== ops.length + 1) {
    return `opens position ${event.content.position} after ${ops.length}`
  }
  if (event.type !== 'flow_outcome') return null
  const { position } = event.content
  if (position > ops.length) return `settles position ${position}, which was not opened before it`
  return settled.has(position) ? `settles position ${position}, which has an outcome already` : null
}

function started(event: EventOf<'flow_started'>): Fold {
  const { flow, version, input, who } = event.content
  const fresh = { generation: 0, ops: [], outcomes: [], settled: new Set<number>(), ended: null }
  return { flow, version, input, who, lastSeq: event.seq, ...fresh }
}

/** Operations without an outcome, in the order they were asked for. */
export function openOps({ ops, outcomes }: FlowState): RecordedOp[] {
  const settledPositions = new Set(outcomes.map(({ position }) => position))
  return ops.filter(({ position }) => !settledPositions.has(position))
}

export type Answerable = RecordedOp & { readonly op: QuestionOp }

/** The suspensions and requests that wait for an answer, in the order they were asked for. */
export function answerableOps(state: FlowState): Answerable[] {
  if (state.ended) return []
  return openOps(state).filter((opened): opened is Answerable => isQuestion(opened.op))
}

/** The question that must be answered next; null while anything runs. */
export function pendingOp(state: FlowState): Answerable | null {
  const isRunning = openOps(state).some(({ op }) => !isQuestion(op) && op.kind !== 'sleep' && op.kind !== 'agent')
  return isRunning ? null : (answerableOps(state)[0] ?? null)
}

/**
 * The messages that a session was waiting for when it was released, kept beside its log: the next owner knows that they were sent, and sends
 * none again to a conversation that was deleted since. By the ids of the operations. Null when there are none to keep.
 */
export function writeSentMessages(state: FlowState, sent: ReadonlySet<string>): JsonObject | null {
  const ids = openAgentIds(state).filter((id) => sent.has(id))
  return ids.length === 0 ? null : { [name]: ids }
}

export function readSentMessages(record: Pick<ConversationRecord, 'settings'> | null): Set<string> {
  const ids = record?.settings[name]
  return new Set(Array.isArray(ids) ? ids.filter((id): id is string => typeof id === 'string') : [])
}

export function openAgentIds(state: FlowState): string[] {
  return openOps(state).flatMap(({ op, id }) => (op.kind === 'agent' && id !== undefined ? [id] : []))
}

const name = 'sentMessages'

/** How a session stands when nothing of it runs, or when what it needs is in another process. */
export type FlowStanding<Result = Json> =
  /** It waits for an answer. */
  | { readonly status: 'waiting'; readonly tag: Json }
  /** It continues by itself at `wakeAt`, in milliseconds by the store's clock. */
  | { readonly status: 'sleeping'; readonly wakeAt: number }
  | { readonly status: 'done'; readonly result: Result }
  | { readonly status: 'failed'; readonly error: string }
  /** It is a fork that was not continued. `tag`: what it would wait for; null when it would run. */
  | { readonly status: 'dormant'; readonly tag: Json }
  /** The request is recorded, and another process must continue: this one does not work, or does not have the code of the flow. */
  | { readonly status: 'running'; readonly elsewhere: true }

/** The state of a session that cannot continue by itself. */
export type FlowEndStanding<Result = Json> = Extract<
  FlowStanding<Result>,
  { readonly status: 'waiting' | 'done' | 'failed' | 'dormant' }
>

/**
 * Where a session is. `waiting`: it waits for an answer. `sleeping`: it continues by itself later. One that waits for an agent is `running`. `dormant`: it is a
 * fork that was not continued. `diverged`: it would run, but the code that this process has for it differs from its record, and nothing was written.
 */
export type FlowStatus = 'none' | 'running' | 'waiting' | 'sleeping' | 'dormant' | 'done' | 'failed' | 'diverged'

/**
 * How a session stands when nothing of it runs; null while something does. The log alone does not tell whether the code has seen its last outcome,
 * so a session counts as waiting or sleeping only when its owner has let it go as such.
 */
export function standingOf(
  state: FlowState,
  record: ConversationRecord | null,
): Exclude<FlowStanding, { readonly status: 'running' }> | null {
  if (state.ended) return state.ended
  if (record?.status === 'idle') return { status: 'dormant', tag: tagOfPending(state) }
  if (!isLetGo(state, record)) return null
  const pending = pendingOp(state)
  if (pending) return { status: 'waiting', tag: tagOf(pending.op) }
  const wakeAt = wakeTime(state)
  return wakeAt === null ? null : { status: 'sleeping', wakeAt }
}

function tagOfPending(state: FlowState): Json {
  const pending = pendingOp(state)
  return pending && tagOf(pending.op)
}

/** Whether the owner of a session has let it go because it waits for an answer or sleeps. */
export function isLetGo(state: FlowState, record: ConversationRecord | null): boolean {
  const isParked = record?.status === 'suspended' || record?.status === 'sleeping'
  return isParked && record.lastSeq === state.lastSeq
}

/** When a session that only sleeps continues; null when anything else is open. */
export function wakeTime(state: FlowState): number | null {
  const open = openOps(state)
  const times = open.flatMap(({ op, at }) => (op.kind === 'sleep' ? [at + op.ms] : []))
  return times.length > 0 && times.length === open.length ? Math.min(...times) : null
}

/** The status of a session in lists once its owner lets it go. One that waits for an agent is active. */
export function parkedStatus(state: FlowState): 'ended' | 'failed' | 'suspended' | 'sleeping' | 'active' {
  if (state.ended) return state.ended.status === 'failed' ? 'failed' : 'ended'
  if (pendingOp(state)) return 'suspended'
  return wakeTime(state) === null ? 'active' : 'sleeping'
}

/** The id of what an operation does outside: as idempotency key, as conversation id, as key of a message. */
export function operationId(session: string, generation: number, position: number): string {
  return `${shortName(session)}/${generation}/${position}`
}

/** An event of a session without the secrets in what steps and flows threw. Whatever is committed by the owner of a session has passed it. */
export function redactFlowEvent(event: NewEvent, redact: Redact): NewEvent {
  if (event.type === 'flow_outcome' && !event.content.ok)
    return { ...event, content: { ...event.content, error: redact(event.content.error) } }
  if (event.type === 'flow_ended' && event.content.status === 'failed')
    return { ...event, content: { ...event.content, error: redact(event.content.error) } }
  return event
}
