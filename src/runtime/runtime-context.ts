import type { Worker } from '../engine/lease/worker.ts'
import type { HintWaiters } from '../engine/live/log-poll.ts'
import type { TurnWaiters } from '../engine/live/turn-outcome.ts'
import type { EngineNode } from '../engine/node.ts'

/** What the handles of one runtime work with. */
export type RuntimeContext = {
  readonly node: EngineNode
  /** Null on a node that runs nothing. */
  readonly worker: Worker | null
  /** Sessions that wait for a turn to end. */
  readonly turnWaiters: TurnWaiters
  /** Callers that wait for a log to grow. */
  readonly hints: HintWaiters
  /** Aborted when the runtime is closed. */
  readonly closed: AbortSignal
  /** Throws `RuntimeClosedError` once the runtime is closed. */
  assertOpen(): void
}
