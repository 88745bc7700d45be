import type { Agent } from '../agent/agent.ts'
import type { Flow } from '../flow/define-flow.ts'
import type { WorkingSets } from '../live/working-sets.ts'
import type { ConversationRef } from '../store/conversation-record.ts'
import type { Store } from '../store/store.ts'
import type { Channels } from './channels.ts'
import type { KeepAlive } from './keep-alive.ts'
import type { Scopes } from './scopes.ts'
import type { Worker } from './worker.ts'

/** What the handles of one runtime share. */
export type RuntimeContext = {
  readonly store: Store
  readonly agents: ReadonlyMap<string, Agent>
  /** By the name their sessions have in the store. */
  readonly flows: ReadonlyMap<string, Flow>
  readonly channels: Channels
  readonly workingSets: WorkingSets
  readonly scopes: Scopes
  readonly keepAlive: KeepAlive
  /** Null on a node that runs nothing. */
  readonly worker: Worker | null
  /** Aborted when the runtime is closed. */
  readonly closed: AbortSignal
  assertOpen(): void
  /** Resolves when something was appended to it, or after a while. Rejects when the runtime is closed. */
  nextHint(ref: ConversationRef): Promise<void>
}
