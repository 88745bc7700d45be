import type { Clock } from '../base/clock.ts'
import type { Json } from '../base/json.ts'
import type { Logger } from '../base/logger.ts'
import type { Secret } from '../base/signer.ts'
import type { Agent } from '../define/agent.ts'
import type { Flow } from '../define/define-flow.ts'
import type { Subscriber } from '../define/define-subscriber.ts'
import type { Jsonify } from '../define/jsonify.ts'
import type { Scope } from '../define/scope.ts'
import type { LimitSettings } from '../engine/limits/turn-limits.ts'
import type { Observer } from '../engine/observer.ts'
import type { IdentityOptions, RestoreScope } from '../engine/scopes.ts'
import type { Persistence } from '../snapshot/persistence.ts'
import type { LiveBus } from '../store/live-bus.ts'
import type { NewDrain, NodeState } from '../store/nodes.ts'
import type { FailedDelivery, FailedPage, SubscriberState } from '../store/outbox.ts'
import type { Pause, PauseTarget, SteeredBy, SteeringAct, SteeringPage } from '../store/steering.ts'
import type { InboxFilter, Store } from '../store/store.ts'
import type { WorkPage, WorkRow } from '../store/work-rows.ts'
import type { Answered, AnswerOptions, CallRef } from './answer-call.ts'
import type { Authorize } from './authorize/authorize.ts'
import type { JudgedPage } from './authorize/judged-page.ts'
import type { Bulk } from './bulk/bulk-verbs.ts'
import type { Conversation } from './conversation.ts'
import type { FlowSession } from './flow-session.ts'
import type { PreflightOptions, PreflightPage } from './preflight/preflight.ts'
import type { Inspection } from './read/inspect.ts'
import type { InboxItem, ListedConversation, ListedSession, ListFilter, SessionFilter } from './read/lists.ts'
import type { ChangesFor } from './read/tenant-changes.ts'
import type { Totals, TotalsFilter } from './read/totals.ts'
import type { Readiness } from './readiness.ts'
import type { SignedFiles, StateSigner } from './signed-files.ts'

/** What `createRuntime` takes. */
export type RuntimeOptions<Agents extends readonly Agent[] = readonly Agent[]> = IdentityOptions & {
  /** Those that callers may name. Agents that their tools start come along, and work for their parents alone. */
  readonly agents: Agents
  /** By name and version; of several versions of a flow, the last is the newest. */
  readonly flows?: readonly Flow[]
  readonly store: Store
  /**
   * Rebuilds the scope of the user who opened a turn, for its hooks and tools, in every process alike. It is asked once for each turn that a process takes up. If
   * it throws, takes longer than 30 seconds or gives a scope of another tenant, the turn waits (`scope_missing`) and it is asked again later. Required with `tenant`
   * or `who`, and for scopes with `assigns`. Default: a scope of the tenant and the user alone, marked `restored`.
   */
  readonly restoreScope?: RestoreScope
  /**
   * Decides what a scope may do with a conversation of its tenant. It is asked before each verb of `as(scope)`, and every 30 seconds while a stream is open. What is
   * not allowed looks as if it did not exist. Not asked: the runtime's own verbs, `systemScope()`, and what the engine does by itself. Default: a scope may do
   * everything inside its tenant.
   */
  readonly authorize?: Authorize
  /** Where snapshots of conversations are kept, beside their logs. Default: nowhere. */
  readonly persistence?: Persistence
  /** How long `persistState`, `loadState` and `deleteState` are waited for. Default: 5,000. */
  readonly persistTimeoutMs?: number
  readonly logger?: Logger
  /**
   * Takes out of texts what only the application knows to be secret, after credentials in addresses, authorization headers and values of environment variables
   * with secret names were taken out. It is given what tools, hooks, steps and providers said when they failed, before that is committed, and what is logged. Must
   * be synchronous and quick. If it throws or returns no text, the whole text is withheld. Default: none.
   */
  readonly redact?: (text: string) => string
  /**
   * Signs addresses of files, and seals cursors of lists that `authorize` judges: a random text of at least 32 bytes. Must be the same on all nodes. Of a list, the first signs and all are
   * accepted, so that a secret can be replaced. Default: a random one for this process; what it signed ends with the process and means nothing to other nodes.
   */
  readonly secret?: Secret
  /**
   * They receive what is committed, at least once and in order for each conversation. The store must have an outbox. A name that is new to the store
   * receives what is committed from now on. Default: none.
   */
  readonly subscribers?: readonly Subscriber[]
  /**
   * Receives what this process commits and calls, as it happens: at most once, and not after a crash. For telemetry: see `perdure/telemetry`. Default: none, and
   * then nothing is put together for it.
   */
  readonly observe?: Observer | readonly Observer[]
  /**
   * Brings text to the nodes that watch a conversation while another node writes it. Null: none does, and they see each message when it is committed. Default: that of
   * the store; `postgresStore` has one, and other stores have none.
   */
  readonly liveBus?: LiveBus | null
  readonly clock?: Clock
  /** False makes a node that takes messages and answers but runs nothing, which it is in any case during `next build` and the build of SvelteKit. Default: true. */
  readonly work?: boolean
  /** How many conversations are worked on at once. Default: 256. */
  readonly maxConcurrentTurns?: number
  /**
   * Turns at once for each tenant, and what each account at a provider allows: turns at once, requests and tokens a minute. Counted over all nodes. What is over a
   * limit waits: see docs/limits.md. Default: no limits.
   */
  readonly limits?: LimitSettings
  /** How long a dead process holds its conversations. Default: 10,000. */
  readonly leaseMs?: number
  /** How often to look for work that no hint announced. Default: 500. */
  readonly pollMs?: number
  /**
   * How long a call that was approved, or has to run again, is left to other processes when its tool is not in the code of this one, as in the middle of
   * a deploy. Then it ends as an error. Default: 600,000.
   */
  readonly missingToolMs?: number
  /** How long audit rows are kept; looked after about once an hour. Default: for ever. */
  readonly auditTtlMs?: number
}

/** The verbs of one identity. */
export type Verbs<Agents extends readonly Agent[] = readonly Agent[]> = {
  /** The names that `conversation` takes: those of `createRuntime`, not of agents that only tools start. */
  readonly agents: readonly Agents[number]['name'][]
  conversation<Name extends Agents[number]['name']>(
    id: string,
    options: { readonly agent: Name },
  ): Conversation<AgentNamed<Agents[number], Name>>
  conversation(id: string): Conversation<Agents[number]>
  /** A bare name stands for the newest version. A flow that is not registered here can be read and answered, but not started. */
  flow<Input, Result>(flow: Flow<string, Input, Result>, id: string): FlowSession<Input, Jsonify<Result>>
  flow(name: string, id: string): FlowSession<unknown, Json>
  /** Answers a call or a question of a session from anywhere: true or false for an approval, else the value that was asked for. */
  resolve(conversationId: string, call: CallRef, value: unknown, options?: AnswerOptions): Promise<Answered>
  conversations(filter?: ListFilter): Promise<JudgedPage<ListedConversation>>
  /** The sessions of the tenant, the newest first. Also of flows that are not registered here. */
  sessions(filter?: SessionFilter): Promise<JudgedPage<ListedSession>>
  /** The flows that are registered here, each with its versions, the newest last. */
  flows(): Promise<FlowListing[]>
  /** Everything that waits for an answer, over all conversations and sessions of the tenant. */
  inbox(page?: InboxFilter): Promise<JudgedPage<InboxItem>>
  /**
   * How many conversations and sessions there are by status, and how much waits for an answer. Null where `authorize` judges rows one by one, or the store cannot
   * count.
   */
  totals(filter?: TotalsFilter): Promise<Totals | null>
  /** What changes in the tenant, for feeds that many callers share: see `GET /live`. */
  changes(): ChangesFor
  /** Has processes work again on a conversation or session that is quarantined. False when it is not. See the `problem` of `conversations`. */
  unquarantine(id: string): Promise<boolean>
  /** What is kept beside the log: the record, the model calls, the snapshot. */
  inspect(id: string): Inspection
}

/** A conversation or session that processes work on, or would. `pause`: why no process takes it; null while it is not paused. */
export type Work = WorkRow & { readonly pause: Pause | null }

/** A registered flow. */
export type FlowListing = { readonly name: string; readonly versions: readonly string[] }

/** The agent of that name; where names are only known at run time, whichever may have it. */
type AgentNamed<A extends Agent, Name extends string> = A extends Agent ? (Name extends A['name'] ? A : never) : never

/** The verbs of the system, and those of users by `as`. */
export type Runtime<Agents extends readonly Agent[] = readonly Agent[]> = Verbs<Agents> & {
  /** The verbs for a user. The runtime's own act as the system. */
  as(scope: Scope): Verbs<Agents>
  /**
   * Deletes everything of a tenant. Calls `deleteState` of the persistence first, once for each conversation, as the system; when one fails, nothing is deleted
   * in the store. Returns how many conversations there were.
   */
  deleteTenant(tenant: string): Promise<number>
  /** All subscribers that the store knows, also of other nodes, with how far they are. Over all tenants, like the verbs below. */
  subscribers(): Promise<SubscriberState[]>
  /** The deliveries that were given up, the newest first. */
  failedDeliveries(page?: FailedPage): Promise<FailedDelivery[]>
  /** Has them tried again. Returns how many there were. */
  retryDeliveries(ids: readonly number[]): Promise<number>
  /** Removes them from the list without delivering them. Returns how many there were. */
  discardDeliveries(ids: readonly number[]): Promise<number>
  /** Makes the store forget a subscriber, with all that waits for it. One that a node still has is registered again when that node starts. */
  removeSubscriber(name: string): Promise<boolean>
  /** Bulk jobs: cancel, retry or unquarantine many conversations of a tenant, durably. The store must have `jobs`. */
  readonly bulk: Bulk
  /**
   * Compares what is open in the store with the code of this runtime, before a deploy: see `PreflightFinding`. Over all tenants, by pages. Runs and writes nothing:
   * no model, tool, hook or step. Flows are replayed up to the first operation that is not recorded. Schemas run, and `migrateState` where it is asked for. What
   * changes during the check may be skipped or reported twice.
   */
  preflight(options?: PreflightOptions): Promise<PreflightPage>
  /** The processes that work on this store or serve it, the oldest first, with what each holds now. */
  nodes(): Promise<NodeState[]>
  /** What is due, held or quarantined over all tenants, the oldest first, with what is paused of it. */
  work(page?: WorkPage): Promise<Work[]>
  /**
   * Makes a node take no more work, and hand over what it still holds after `drainMs` (default: 10,000). It keeps serving requests. The node learns of it
   * with its next heartbeat, within a third of its `leaseMs`. Returns false if the node is not known. `who`: who asks; default: 'system'.
   */
  drain(holder: string, options?: Partial<NewDrain>): Promise<boolean>
  /** Lets it work again. False when it does not drain. */
  undrain(holder: string, options?: Partial<SteeredBy>): Promise<boolean>
  /**
   * Stops all processes from starting work on an agent, a tenant or a conversation, from its acknowledgement on; docs/operations.md says what still
   * continues. `who`: who asks; default: 'system'. A second pause changes nothing.
   */
  pause(target: PauseTarget, options?: Partial<SteeredBy>): Promise<Pause>
  /** What waits is due at once. False when it is not paused. */
  resume(target: PauseTarget, options?: Partial<SteeredBy>): Promise<boolean>
  /** What is paused, the newest first. */
  pauses(page?: SteeringPage): Promise<Pause[]>
  /** Who paused, resumed, drained and undrained what, the newest first. The newest 1,000 are kept. */
  steeringActs(page?: SteeringPage): Promise<SteeringAct[]>
  /** Addresses of files that work without an identity for a while. For servers. */
  readonly signedFiles: SignedFiles
  /** Signs values that the next request returns. For servers. */
  readonly signedStates: StateSigner
  /** Whether the store answers and the worker finds its work, for health checks. Never rejects; takes at most two seconds. */
  readiness(): Promise<Readiness>
  /** Takes no more work, waits up to `drainMs` for what runs, and records what was started and did not finish. The store stays open. */
  close(options?: { readonly drainMs?: number }): Promise<void>
}
