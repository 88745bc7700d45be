import type { Agent } from '../../define/agent.ts'
import type { ScopeSource } from '../../define/scope.ts'
import type { ContextMemory } from '../../prompt/assemble-prompt.ts'
import type { ConversationRef } from '../../store/records.ts'
import type { TenantStore } from '../../store/store.ts'
import type { Family } from '../child/child-family.ts'
import type { Channel } from '../live/channel.ts'
import type { LiveVoice } from '../live/channel-relay.ts'
import type { EngineNode } from '../node.ts'
import type { TurnTools } from './turn-tools.ts'

/** What the turns of one conversation work with. */
export type TurnContext = {
  readonly node: EngineNode
  readonly ref: ConversationRef
  /** As it was defined. */
  readonly agent: Agent
  /** The agent with the tools that its sources have. */
  readonly tools: TurnTools
  /** The store of the conversation's tenant. */
  readonly store: TenantStore
  readonly channel: Channel
  /** Says what is live, under the epoch of the lease. */
  readonly live: LiveVoice
  readonly scopes: ScopeSource
  readonly family: Family
  readonly memory: ContextMemory
}
