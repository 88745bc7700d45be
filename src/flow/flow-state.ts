import { EventInvalidError, EventUnknownError } from '../errors/log-errors.ts'
import type { FlowEnded, FlowOp, FlowOutcome, LogEvent } from '../log/events.ts'
import type { Json } from '../log/json.ts'

/** What the log of a session folds to: the record that its flow is replayed against. Plain JSON. */
export type FlowState = {
  readonly lastSeq: number
  readonly flow: string
  readonly version: string
  readonly input: Json
  readonly who: string
  /** How often it went on with a fresh record. */
  readonly generation: number
  /** By position, those that are in the log. */
  readonly ops: readonly OpenedOp[]
  /** In the order they came. */
  readonly outcomes: readonly FlowOutcome[]
  readonly ended: FlowEnded | null
}

export type OpenedOp = { readonly position: number; readonly op: FlowOp; readonly at: number }

/** Null for an empty log. */
export function foldFlow(events: Iterable<LogEvent>, base: FlowState | null = null): FlowState | null {
  let state = base
  for (const event of events) if (event.seq > (state?.lastSeq ?? 0)) state = apply(state, event)
  return state
}

function apply(state: FlowState | null, event: LogEvent): FlowState {
  if (event.type === 'flow_started') {
    return { ...event.content, lastSeq: event.seq, generation: 0, ops: [], outcomes: [], ended: null }
  }
  if (!state || event.seq !== state.lastSeq + 1)
    throw new EventInvalidError(event, 'the session has no start before it, or a gap')
  const next = { ...state, lastSeq: event.seq }
  switch (event.type) {
    case 'flow_opened':
      return { ...next, ops: [...state.ops, { ...event.content, at: event.at }] }
    case 'flow_outcome':
      return { ...next, outcomes: [...state.outcomes, event.content] }
    case 'flow_continued':
      return { ...next, ...event.content, generation: state.generation + 1, ops: [], outcomes: [] }
    case 'flow_ended':
      return { ...next, ended: event.content }
    case 'titled':
    case 'seeded':
      return next
    default:
      throw new EventUnknownError(event)
  }
}

/** Operations without an outcome, in the order they were asked for. */
export function openOps({ ops, outcomes }: FlowState): OpenedOp[] {
  const settled = new Set(outcomes.map((outcome) => outcome.position))
  return ops.filter(({ position }) => !settled.has(position)).toSorted((left, right) => left.position - right.position)
}

/** The suspension or request that somebody has to answer next; null while anything runs or can run. */
export function pendingOp(state: FlowState): OpenedOp | null {
  if (state.ended) return null
  const open = openOps(state)
  const isWaiting =
    open.length > 0 && open.every(({ op }) => isAnswered(op) || op.kind === 'sleep' || op.kind === 'agent')
  return isWaiting ? (open.find(({ op }) => isAnswered(op)) ?? null) : null
}

export function isAnswered(op: FlowOp): op is Extract<FlowOp, { kind: 'suspend' | 'request' }> {
  return op.kind === 'suspend' || op.kind === 'request'
}
