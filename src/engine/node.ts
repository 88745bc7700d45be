import type { Clock } from '../base/clock.ts'
import { type Logger, rateLimited } from '../base/logger.ts'
import type { Redact } from '../base/redact/redactor.ts'
import type { Signer } from '../base/signer.ts'
import { uuidV7 } from '../base/uuid-v7.ts'
import type { Agent } from '../define/agent.ts'
import { ContextMemories } from '../prompt/assemble-prompt.ts'
import type { Snapshots } from '../snapshot/snapshots.ts'
import { accountsOf } from '../store/accounts.ts'
import { KnownPauses } from '../store/known-pauses.ts'
import type { LiveBus } from '../store/live-bus.ts'
import type { Store } from '../store/store.ts'
import { WorkingSets } from '../store/working-sets.ts'
import { BackgroundTasks, KeepAlive } from './background-tasks.ts'
import type { FlowRegistry } from './flow/flow-registry.ts'
import { FlowStates } from './flow/load-flow.ts'
import { ModelGates } from './limits/model-gate.ts'
import { type LimitSettings, type TurnLimits, turnLimits } from './limits/turn-limits.ts'
import { noSeal, type Seal, sealWith } from './live/live-message.ts'
import { LiveRelay } from './live/live-relay.ts'
import { Channels } from './live/log-poll.ts'
import type { Observer } from './observer.ts'
import { type ScopeOptions, Scopes } from './scopes.ts'
import { MissingToolTimeouts } from './turn/running-calls.ts'

/** What the application decides about a node. */
export type NodeSettings = {
  readonly store: Store
  readonly clock: Clock
  readonly logger: Logger
  /** Takes secrets out of what failed, before it is committed or logged. */
  readonly redact: Redact
  /** Null where nothing is observed, and then nothing is put together for it. */
  readonly observer: Observer | null
  /** Signs what is handed out: addresses of files, webhooks. */
  readonly signer: Signer
  /** All agents that there is code for, also those that only tools start. */
  readonly agents: ReadonlyMap<string, Agent>
  /** The agents that callers may name. All others work for a parent alone. */
  readonly addressable: ReadonlyMap<string, Agent>
  readonly flows: FlowRegistry
  /** Null where the application keeps none. */
  readonly snapshots: Snapshots | null
  /** Brings what is live to other nodes. Null where there are none, or none that should have it. */
  readonly liveBus: LiveBus | null
  /** How scopes are identified, and rebuilt. */
  readonly scope: ScopeOptions
  readonly leaseMs: number
  readonly pollMs: number
  readonly maxConcurrentTurns: number
  readonly limits: LimitSettings
  readonly missingToolMs: number
}

/** What one process works with: its settings, and what it remembers. One object for all that runs in the process. */
export type EngineNode = Omit<NodeSettings, 'scope' | 'missingToolMs' | 'limits' | 'liveBus'> & {
  /** Null where nothing limits turns. */
  readonly turnLimits: TurnLimits | null
  /** Null where no agent has an account. */
  readonly modelGates: ModelGates | null
  /** The name under which the process holds its leases. */
  readonly holder: string
  /** For failures of the store that are tried again. Logs the same failure only once in a while. */
  readonly warnOfStore: Logger['warn']
  readonly channels: Channels
  readonly relay: LiveRelay | null
  readonly pauses: KnownPauses
  readonly workingSets: WorkingSets
  readonly flowStates: FlowStates
  readonly contextMemories: ContextMemories
  readonly scopes: Scopes
  readonly toolTimeouts: MissingToolTimeouts
  readonly keepAlive: KeepAlive
  readonly backgroundTasks: BackgroundTasks
}

export function createNode({ scope, missingToolMs, limits, liveBus, ...settings }: NodeSettings): EngineNode {
  const { store, clock, logger } = settings
  const agents = [...settings.agents.values()]
  const warnOfStore = rateLimited(logger, () => clock.now())
  const hasAccounts = agents.some(({ account }) => account !== null)
  const workingSets = new WorkingSets()
  const keepAlive = new KeepAlive()
  const relay = liveBus ? new LiveRelay(liveBus, sealOf(settings.signer)) : null
  return {
    ...settings,
    holder: `runtime-${uuidV7()}`,
    warnOfStore,
    turnLimits: turnLimits(limits, agents, { clock, logger }),
    modelGates: hasAccounts
      ? new ModelGates(limits, agents, { accounts: accountsOf(store), clock, warnOfStore })
      : null,
    channels: new Channels(store, workingSets, clock, relay),
    relay,
    pauses: new KnownPauses(store.steering, clock),
    workingSets,
    flowStates: new FlowStates(),
    contextMemories: new ContextMemories(),
    scopes: new Scopes(scope, clock),
    toolTimeouts: new MissingToolTimeouts(clock, missingToolMs),
    keepAlive,
    backgroundTasks: new BackgroundTasks({ logger, keepAlive }),
  }
}

/** Where nodes have a secret in common, only they read what is live, and nothing else is taken for it. */
function sealOf(signer: Signer): Seal {
  return signer.isTemporary ? noSeal : sealWith(Buffer.from(signer.sign('live', 'key'), 'base64url'))
}
