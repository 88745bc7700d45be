import type { Clock } from '../../base/clock.ts'
import { AgentMissingError } from '../../base/errors/runtime-errors.ts'
import type { Logger } from '../../base/logger.ts'
import type { Redact } from '../../base/redact/redactor.ts'
import type { Agent } from '../../define/agent.ts'
import { callIdOfChild } from '../../log/child-call.ts'
import type { TurnState } from '../../log/state.ts'
import type { ContextMemories } from '../../prompt/assemble-prompt.ts'
import type { Snapshots } from '../../snapshot/snapshots.ts'
import type { Lease } from '../../store/lease.ts'
import type { ConversationRef } from '../../store/records.ts'
import type { Store } from '../../store/store.ts'
import type { WorkingSets } from '../../store/working-sets.ts'
import { admitChild, parentCallOf } from '../child/child-calls.ts'
import { childFamily, type FamilyParts } from '../child/child-family.ts'
import type { CommittedLog } from '../lease-request.ts'
import type { Channels } from '../live/log-poll.ts'
import type { Scopes } from '../scopes.ts'
import type { SideTasks } from '../side-tasks.ts'
import { drive } from './drive.ts'
import { Owner } from './owner.ts'
import type { MissingToolTimeouts } from './running-calls.ts'
import { generateTitle, needsTitle, summarise } from './side-calls.ts'
import type { TurnContext } from './turn-context.ts'

export type ConversationWork = {
  readonly store: Store
  readonly channels: Channels
  readonly workingSets: WorkingSets
  /** Agents that callers may name; all others work for a parent alone. */
  readonly addressable: ReadonlyMap<string, Agent>
  readonly contextMemories: ContextMemories
  readonly scopes: Scopes
  readonly snapshots: Snapshots | null
  readonly clock: Clock
  readonly logger: Logger
  /** For failures of the store that are tried again: the same one is told once in a while. */
  readonly warnOfStore: Logger['warn']
  readonly redact: Redact
  readonly family: FamilyParts
  readonly toolPatience: MissingToolTimeouts
  readonly sideTasks: SideTasks
  /** Asked once it is loaded: then it is let go again. */
  readonly isCalledOff: () => boolean
}

/** What it works under, with what is known where nothing has to be read. */
export type WorkingLease = { readonly lease: Lease; readonly known: CommittedLog | null }

/** Drives a conversation under a lease until it can be let go. */
export async function workOnConversation(
  ref: ConversationRef,
  agent: Agent,
  work: ConversationWork,
  { lease, known: given }: WorkingLease,
  onOwner: (owner: Owner) => void,
): Promise<void> {
  const { tenant, id } = ref
  const { channels, workingSets, contextMemories, scopes, snapshots, clock, logger, warnOfStore, redact, sideTasks } =
    work
  const store = work.store.forTenant(tenant)
  const parent = callIdOfChild(id) === null ? null : await parentCallOf(store, id)
  if (!parent && !work.addressable.has(agent.name))
    throw new AgentMissingError(agent.name, id, [...work.addressable.keys()])
  if (parent && !(await admitChild(store, id, (await workingSets.loadWhole(store, tenant, id)).state, parent))) return
  // Nothing is awaited where the log is known: whoever asks for the turn at once finds its owner here.
  const known = parent ? null : given
  const workingSet = known?.workingSet ?? (await workingSets.loadWhole(store, tenant, id))
  if (work.isCalledOff()) return store.releaseLease(id, lease.epoch)
  const context: TurnContext = {
    ...{ tenant, id, agent, store, workingSets, snapshots, clock, logger, warnOfStore, redact },
    channel: channels.of(tenant, id),
    scopes: scopes.forConversation(tenant, id),
    family: childFamily(work.family, ref, agent, parent),
    memory: contextMemories.of(tenant, id),
    toolWaitMs: (callId) => work.toolPatience.remainingMs(ref, callId),
    summariseSoon: (span) => summariseBeside(span, context, sideTasks),
  }
  const owner = new Owner(context, lease, workingSet, known?.cached ?? null)
  onOwner(owner)
  await drive(owner)
  const { isLost, state } = owner
  if (isLost || !needsTitle(state, context)) return
  sideTasks.start('no title could be recorded', ref, (signal) => generateTitle(state, context, signal))
}

function summariseBeside(span: readonly TurnState[], context: TurnContext, sideTasks: SideTasks): void {
  const { memory } = context
  memory.isSummarising = true
  sideTasks.start('no summary could be recorded', context, async (signal) => {
    try {
      await summarise(span, context, signal)
    } finally {
      memory.isSummarising = false
    }
  })
}
