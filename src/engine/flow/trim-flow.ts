import type { Json } from '../../base/json.ts'
import { abridge } from '../../log/abridge.ts'
import { weightOf } from '../../log/weight.ts'
import { type FlowState, openOps, type RecordedOp, type RecordedOutcome } from './flow-state.ts'

/** About what a record takes in memory. */
export function flowWeight({ input, ops, outcomes, ended }: FlowState): number {
  let weight = weightOf(input) + weightOf(ended)
  for (const part of [...ops, ...outcomes]) weight += partWeight(part)
  return weight
}

/**
 * A record in about so many bytes, to be shown: of the oldest values only their beginnings, and of what waits for an answer last. No code can be replayed
 * against it. Pure; the same object where it fits.
 */
export function trimFlow(state: FlowState, maxBytes: number): FlowState {
  let weight = flowWeight(state)
  if (weight <= maxBytes) return state
  const open = new Set(openOps(state).map(({ position }) => position))
  const lighter = <Part extends RecordedOp | RecordedOutcome>(part: Part, shorten: (part: Part) => Part): Part => {
    if (weight <= maxBytes) return part
    const abridged = shorten(part)
    const saved = partWeight(part) - partWeight(abridged)
    weight -= saved
    return saved > 0 ? { ...abridged, leftOut: (part.leftOut ?? 0) + saved } : part
  }
  const outcomes = state.outcomes.map((outcome) => lighter(outcome, abridgedOutcome))
  const settled = state.ops.map((op) => (open.has(op.position) ? op : lighter(op, abridgedOp)))
  const ops = settled.map((op) => (open.has(op.position) ? lighter(op, abridgedOp) : op))
  return { ...state, ops, outcomes, isTrimmed: true }
}

function abridgedOutcome(outcome: RecordedOutcome): RecordedOutcome {
  if (outcome.ok) return { ...outcome, value: abridge(outcome.value) }
  return { ...outcome, error: abridge(outcome.error) as string }
}

function abridgedOp(opened: RecordedOp): RecordedOp {
  return { ...opened, op: abridge(opened.op as unknown as Json) as unknown as RecordedOp['op'] }
}

const weights = new WeakMap<object, number>()

function partWeight(part: object): number {
  const known = weights.get(part)
  if (known !== undefined) return known
  const weight = weightOf(part)
  weights.set(part, weight)
  return weight
}
