import type { Redact } from '../base/redact/redactor.ts'
import type { Agent } from '../define/agent.ts'
import type { FlowRegistry } from '../engine/flow/flow-registry.ts'
import type { FlowStates } from '../engine/flow/load-flow.ts'
import type { Worker } from '../engine/lease/worker.ts'
import type { Channels, Hints } from '../engine/live/log-poll.ts'
import type { TurnWaiters } from '../engine/live/turn-outcome.ts'
import type { Scopes } from '../engine/scopes.ts'
import type { KeepAlive } from '../engine/side-tasks.ts'
import type { Snapshots } from '../snapshot/snapshots.ts'
import type { ConversationRef } from '../store/records.ts'
import type { Store } from '../store/store.ts'
import type { WorkingSets } from '../store/working-sets.ts'

/** What the handles of one runtime share. */
export type RuntimeContext = {
  readonly store: Store
  /** All that there is code for, also those that only tools start. */
  readonly agents: ReadonlyMap<string, Agent>
  /** Those that callers may name. */
  readonly addressable: ReadonlyMap<string, Agent>
  readonly flows: FlowRegistry
  readonly flowStates: FlowStates
  readonly channels: Channels
  readonly workingSets: WorkingSets
  readonly scopes: Scopes
  readonly keepAlive: KeepAlive
  /** Takes secrets out of what failed, before it is committed. */
  readonly redact: Redact
  /** Null where the app keeps none. */
  readonly snapshots: Snapshots | null
  readonly turnWaiters: TurnWaiters
  /** Null on a node that runs nothing. */
  readonly worker: Worker | null
  /** Aborted when the runtime is closed. */
  readonly closed: AbortSignal
  assertOpen(): void
  /** Listens for what is appended to it. Must be stopped. */
  hintsOf(ref: ConversationRef, signal?: AbortSignal): Hints
}
