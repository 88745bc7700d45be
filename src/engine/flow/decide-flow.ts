import { UserFacingError } from '../../base/errors/perdure-error.ts'
import type { Json } from '../../base/json.ts'
import { errorText } from '../../base/redact/redactor.ts'
import { type Normalised, normaliseValue } from '../../define/normalise-result.ts'
import type { FlowFailure, FlowOp, FlowOpened, FlowOutcome, NewEvent } from '../../log/events.ts'
import type { LiveOp, Standstill } from './flow-run.ts'
import type { FlowState, RecordedOp } from './flow-state.ts'

/** What this process knows beside the record. Positions are those of the current generation. */
export type FlowHand = {
  /** Outcomes that are not in the log yet. */
  readonly outcomes: readonly FlowOutcome[]
  /** What this process is executing. */
  readonly running: ReadonlySet<number>
  /** What this process has opened, whether it has begun with it or not. */
  readonly openedHere: ReadonlySet<number>
  /** Agents that were asked and whose turn has not ended. */
  readonly unanswered: ReadonlySet<number>
  readonly now: number
  readonly draw: (kind: 'now' | 'random' | 'uuid') => Json
  readonly newId: (position: number) => string
}

export type FlowDecision = {
  readonly events: readonly NewEvent[]
  /** Nothing can run: the session has ended, or waits for an answer, a time or an agent. */
  readonly parks: boolean
  /** When it parks: how long until something is due; null when nothing will be. */
  readonly wakeInMs: number | null
}

type ParkedOp = Pick<RecordedOp, 'op' | 'at'>

/** What to append where the code stands. Pure but for what `draw` gives. */
export function decideFlow(
  standstill: Exclude<Standstill, { type: 'continued' }>,
  state: FlowState,
  hand: FlowHand,
): FlowDecision {
  if (standstill.type !== 'blocked') return { events: [endOf(standstill)], parks: true, wakeInMs: null }
  const { ops, asked } = standstill
  const fresh = ops.filter(({ position }) => position > state.ops.length)
  const outcomes = ops.flatMap((live) => outcomeOf(live, state.ops[live.position - 1] ?? null, hand) ?? [])
  // All openings first: `asked` must hold for each before any outcome of the same commit is given.
  const events: NewEvent[] = [
    ...fresh.map((live): NewEvent => ({ type: 'flow_opened', content: openedAs(live, asked, hand) })),
    ...outcomes.map((content): NewEvent => ({ type: 'flow_outcome', content })),
  ]
  const parks = hand.running.size === 0 && outcomes.length === 0 && ops.every((live) => canWait(live, state, hand))
  const waiting = ops.map(({ position, op }): ParkedOp => ({ op, at: state.ops[position - 1]?.at ?? hand.now }))
  return { events, parks, wakeInMs: parks ? nextDueMs(waiting, hand.now) : null }
}

function endOf(ended: Extract<Standstill, { type: 'done' | 'failed' }>): NewEvent {
  const failed = (error: string, userFacing = false): NewEvent => ({
    type: 'flow_ended',
    content: { status: 'failed', error, ...(userFacing ? { userFacing } : {}) },
  })
  if (ended.type === 'failed') return failed(errorText(ended.error), UserFacingError.isInstance(ended.error))
  const result = normaliseValue(ended.result)
  if (!result.ok) return failed(`its result cannot be recorded: ${result.problem}`)
  return { type: 'flow_ended', content: { status: 'done', result: result.value } }
}

/** What a step returned, as it is recorded. */
export function returned(result: Normalised): { ok: true; value: Json } | FlowFailure {
  if (result.ok) return result
  return { ok: false, error: `it ran, but its result cannot be recorded: ${result.problem}`, outcome: 'ran' }
}

function openedAs({ position, op }: LiveOp, asked: number, { newId }: FlowHand): FlowOpened {
  const actsOutside = op.kind === 'step' || op.kind === 'agent'
  return { position, op, asked, ...(actsOutside ? { id: newId(position) } : {}) }
}

function outcomeOf({ position, op }: LiveOp, recorded: RecordedOp | null, hand: FlowHand): FlowOutcome | null {
  const inHand = hand.outcomes.find((outcome) => outcome.position === position)
  if (inHand) return inHand
  switch (op.kind) {
    case 'now':
    case 'random':
    case 'uuid':
      return { position, ok: true, value: hand.draw(op.kind) }
    case 'sleep':
      return recorded && recorded.at + op.ms <= hand.now ? { position, ok: true, value: null } : null
    case 'step':
      return recorded && op.ifInterrupted === 'report' && !hand.openedHere.has(position)
        ? { position, ...interruptedStep(op.name) }
        : null
    default:
      return null
  }
}

/** A process began it and it has no outcome. */
export function interruptedStep(step: string): FlowFailure {
  const error = `The step '${step}' was interrupted, and whether it ran is unknown. Find out whether it did before you repeat it.`
  return { ok: false, error, outcome: 'unknown' }
}

function canWait({ position, op }: LiveOp, state: FlowState, { unanswered, now }: FlowHand): boolean {
  if (op.kind === 'agent') return unanswered.has(position)
  if (op.kind === 'sleep') return (state.ops[position - 1]?.at ?? now) + op.ms > now
  return op.kind === 'suspend' || op.kind === 'request'
}

/** How often to check an agent's turn without a hint: after a quarter of the time it has taken so far, within these bounds. */
const agentPollMs = { least: 1_000, most: 300_000 }

export function nextDueMs(waiting: readonly ParkedOp[], now: number): number | null {
  const dueMs = waiting.flatMap(({ op, at }) => waitOf(op, at, now) ?? [])
  return dueMs.length === 0 ? null : Math.min(...dueMs)
}

function waitOf(op: FlowOp, at: number, now: number): number | null {
  if (op.kind === 'sleep') return Math.max(0, Math.ceil(at + op.ms - now))
  if (op.kind !== 'agent') return null
  return Math.min(agentPollMs.most, Math.max(agentPollMs.least, Math.ceil((now - at) / 4)))
}
