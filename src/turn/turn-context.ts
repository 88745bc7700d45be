import type { Agent } from '../agent/agent.ts'
import type { Clock } from '../clock/clock.ts'
import type { ContextMemory } from '../context/context-memory.ts'
import type { Channel } from '../live/channel.ts'
import type { WorkingSets } from '../live/working-sets.ts'
import type { TurnState } from '../log/state.ts'
import type { Logger } from '../logger/logger.ts'
import type { Redact } from '../redact/redactor.ts'
import type { Scope } from '../scope/register.ts'
import type { Snapshots } from '../snapshot/snapshots.ts'
import type { TenantStore } from '../store/store.ts'
import type { Family } from './family.ts'

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

/** Identities are never stored: they come from who acted in this process, or are restored from the id that was. */
export type ScopeSource = {
  ofTurn(turn: TurnState): Promise<Scope>
  /** Of whoever let the call run: the one who approved it, else the one whose turn it is. */
  ofCall(turn: TurnState, callId: string): Promise<Scope>
  /** Where nobody has a turn: null only in the tenant of those who have none, so that nothing of a tenant is taken for nobody's. */
  ofNobody(): Promise<Scope | null>
}
