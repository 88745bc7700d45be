import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import type { Redact } from '../../base/redact/redactor.ts'
import type { Lease } from '../../store/lease.ts'
import type { ConversationRef } from '../../store/records.ts'
import type { Store } from '../../store/store.ts'
import type { LogOwner } from '../lease-request.ts'
import { type FlowContext, FlowOwner } from './flow-owner.ts'
import type { FlowRegistry } from './flow-registry.ts'
import { openAgentIds, readSentMessages } from './flow-state.ts'
import type { FlowStates } from './load-flow.ts'

export type FlowWork = {
  readonly store: Store
  readonly flows: FlowRegistry
  readonly flowStates: FlowStates
  readonly askAgent: (ref: ConversationRef) => FlowContext['askAgent']
  readonly clock: Clock
  readonly logger: Logger
  /** For failures of the store that are tried again: the same one is told once in a while. */
  readonly warnOfStore: Logger['warn']
  readonly redact: Redact
}

/** Drives a session under a lease until it can be let go. Resolves with how soon it is due again, where it is. */
export async function workOnFlow(
  { tenant, id }: ConversationRef,
  { flows, flowStates, clock, logger, warnOfStore, redact, ...work }: FlowWork,
  lease: Lease,
  onOwner: (owner: LogOwner) => Promise<void>,
): Promise<number | null> {
  const store = work.store.forTenant(tenant)
  const loaded = await flowStates.loadWhole(store, tenant, id)
  if (!loaded || loaded.state.ended) {
    // Whoever had it go on has marked it as active.
    const ended = loaded ? { conversation: { status: 'ended' as const } } : {}
    await store.commit(id, { events: [], epoch: lease.epoch, wakeAt: null, lease: 'release', ...ended })
    return null
  }
  const context = {
    tenant,
    id,
    flows,
    store,
    clock,
    logger,
    warnOfStore,
    redact,
    askAgent: work.askAgent({ tenant, id }),
  }
  const isWaiting = openAgentIds(loaded.state).length > 0
  const sent = readSentMessages(isWaiting ? await store.getConversation(id) : null)
  const owner = new FlowOwner(context, lease, loaded, sent)
  await onOwner(owner)
  await driveFlow(owner)
  flowStates.keep(tenant, id, owner.loaded)
  return owner.dueInMs
}

/**
 * The loop of a session: replay, decide, commit, act, again. Starting, going on after an answer, and recovering after a crash are all this.
 * Resolves when nothing can run any more and the session is let go, or when another node has taken it. Rejects with `DeterminismError` when
 * code and record differ; nothing has been written then.
 */
export async function driveFlow(owner: FlowOwner): Promise<void> {
  while (!owner.isLost) {
    await owner.catchUp()
    if (owner.isLost) return
    const decision = await owner.decide()
    if (decision.events.length > 0 || decision.parks) {
      const isCommitted = await owner.commit(decision)
      if (isCommitted && decision.parks) return
      continue
    }
    await owner.actOnOpened()
    await owner.changed()
  }
}
