import type { Worker } from '../engine/lease/worker.ts'
import type { HintWaiters } from '../engine/live/log-poll.ts'
import type { TurnWaiters } from '../engine/live/turn-outcome.ts'
import type { EngineNode } from '../engine/node.ts'
import type { Authorize } from './authorize/authorize.ts'
import type { Cursors } from './authorize/judged-page.ts'
import type { ChangesInTurn } from './conversation-state.ts'

/** What the verbs of a runtime with `authorize` are guarded with. */
export type Authorization = {
  readonly authorize: Authorize
  /** A tenant that stays empty: refused verbs run there. */
  readonly emptyTenant: string
  readonly cursors: Cursors
}

/** What the handles of one runtime work with. */
export type RuntimeContext = {
  readonly node: EngineNode
  /** Null on a node that runs nothing. */
  readonly worker: Worker | null
  /** Sessions that wait for a turn to end. */
  readonly turnWaiters: TurnWaiters
  /** Makes changes of state from the application one after another. */
  readonly stateChanges: ChangesInTurn
  /** Callers that wait for a log to grow. */
  readonly hints: HintWaiters
  /** Null where every scope may do everything inside its tenant. */
  readonly authorization: Authorization | null
  /** Resolves when the subscribers were registered, so that what is sent afterwards is recorded for them; null without subscribers. */
  readonly subscribed: Promise<void> | null
  /** Aborted when the runtime is closed. */
  readonly closed: AbortSignal
  /** Throws `RuntimeClosedError` once the runtime is closed. */
  assertOpen(): void
}
