import { EventInvalidError, EventUnknownError } from '../errors/log-errors.ts'
import type { EventOf, FlowEnded, FlowOp, FlowOpened, FlowOutcome, LogEvent } from '../log/events.ts'
import type { Json } from '../log/json.ts'

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
}

export type RecordedOp = FlowOpened & { readonly seq: number; readonly at: number }

export type RecordedOutcome = FlowOutcome & { readonly seq: number; readonly at: number }

/** Null for an empty log. Throws on an event it does not know, and on one that makes no sense after those before it. */
export function foldFlow(events: Iterable<LogEvent>, base: FlowState | null = null): FlowState | null {
  let fold = base && foldOf(base)
  for (const event of events) {
    if (event.seq <= (fold?.lastSeq ?? 0)) continue
    fold = apply(fold, event)
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

function apply(fold: Fold | null, event: LogEvent): Fold {
  if (event.seq !== (fold?.lastSeq ?? 0) + 1) throw new EventInvalidError(event, 'the log has a gap before it')
  if (!fold) return started(event)
  if (fold.ended && event.type !== 'titled') throw new EventInvalidError(event, 'the session has ended before it')
  switch (event.type) {
    case 'flow_opened':
      opened(fold, event)
      break
    case 'flow_outcome':
      settled(fold, event)
      break
    case 'flow_continued':
      Object.assign(fold, event.content, { generation: fold.generation + 1, ops: [], outcomes: [], settled: new Set() })
      break
    case 'flow_ended':
      fold.ended = event.content
      break
    case 'titled':
      break
    default:
      throw new EventUnknownError(event)
  }
  fold.lastSeq = event.seq
  return fold
}

function started(event: LogEvent): Fold {
  if (event.type !== 'flow_started') throw new EventInvalidError(event, 'a session begins with flow_started')
  const { flow, version, input, who } = event.content
  const fresh = { generation: 0, ops: [], outcomes: [], settled: new Set<number>(), ended: null }
  return { flow, version, input, who, lastSeq: event.seq, ...fresh }
}

function opened(fold: Fold, event: EventOf<'flow_opened'>): void {
  const { position } = event.content
  if (position !== fold.ops.length + 1) {
    throw new EventInvalidError(event, `it opens position ${position} after ${fold.ops.length}`)
  }
  fold.ops.push({ ...event.content, seq: event.seq, at: event.at })
}

function settled(fold: Fold, event: EventOf<'flow_outcome'>): void {
  const { position } = event.content
  if (position > fold.ops.length) throw new EventInvalidError(event, `position ${position} was not opened before it`)
  if (fold.settled.has(position)) throw new EventInvalidError(event, `position ${position} has an outcome already`)
  fold.settled.add(position)
  fold.outcomes.push({ ...event.content, seq: event.seq, at: event.at })
}

/** Operations without an outcome, in the order they were asked for. */
export function openOps({ ops, outcomes }: FlowState): RecordedOp[] {
  const settledPositions = new Set(outcomes.map(({ position }) => position))
  return ops.filter(({ position }) => !settledPositions.has(position))
}

export type Answerable = RecordedOp & { readonly op: Extract<FlowOp, { kind: 'suspend' | 'request' }> }

/** The suspensions and requests that wait for an answer, in the order they were asked for. */
export function answerableOps(state: FlowState): Answerable[] {
  if (state.ended) return []
  return openOps(state).filter((opened): opened is Answerable => isAnswered(opened.op))
}

/** What somebody has to answer next; null while anything runs. */
export function pendingOp(state: FlowState): Answerable | null {
  const isRunning = openOps(state).some(({ op }) => !isAnswered(op) && op.kind !== 'sleep' && op.kind !== 'agent')
  return isRunning ? null : (answerableOps(state)[0] ?? null)
}

function isAnswered(op: FlowOp): boolean {
  return op.kind === 'suspend' || op.kind === 'request'
}
