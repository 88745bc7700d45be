import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import type { Redact } from '../../base/redact/redactor.ts'
import type { Agent } from '../../define/agent.ts'
import type { ScopeSource } from '../../define/scope.ts'
import type { TurnState } from '../../log/state.ts'
import type { ContextMemory } from '../../prompt/assemble-prompt.ts'
import type { Snapshots } from '../../snapshot/snapshots.ts'
import type { TenantStore } from '../../store/store.ts'
import type { WorkingSets } from '../../store/working-sets.ts'
import type { Family } from '../child/child-family.ts'
import type { Channel } from '../live/channel.ts'

/** Everything that working on one conversation needs from outside. */
export type TurnContext = {
  readonly tenant: string
  readonly id: string
  readonly agent: Agent
  readonly store: TenantStore
  readonly channel: Channel
  readonly workingSets: WorkingSets
  readonly clock: Clock
  readonly logger: Logger
  /** For failures of the store that are tried again: the same one is told once in a while. */
  readonly warnOfStore: Logger['warn']
  /** Takes secrets out of what failed, before it is committed or told. */
  readonly redact: Redact
  readonly scopes: ScopeSource
  readonly family: Family
  /** Null where the app keeps none. */
  readonly snapshots: Snapshots | null
  readonly memory: ContextMemory
  /** For how much longer a call whose tool this agent lacks is left to other nodes. */
  readonly toolWaitMs: (callId: string) => number
  /** Begins to sum up these turns, beside what goes on here. */
  readonly summariseSoon: (span: readonly TurnState[]) => void
}
