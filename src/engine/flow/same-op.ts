import { isDeepStrictEqual } from 'node:util'
import type { FlowOp } from '../../log/events.ts'

/**
 * Whether the code asks for what was recorded: kind, name, tag, payload, declared input. Not the schema of an answer and not `ifInterrupted`:
 * they change nothing of what has happened. The order of keys does not count.
 */
export function isSameOp(recorded: FlowOp, actual: FlowOp): boolean {
  return isDeepStrictEqual(compared(recorded), compared(actual))
}

function compared(op: FlowOp): object {
  switch (op.kind) {
    case 'suspend':
      return { kind: op.kind, tag: op.tag }
    case 'step':
      return { kind: op.kind, name: op.name, input: op.input }
    default:
      return op
  }
}
