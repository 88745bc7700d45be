import type { Lease } from '../../store/lease.ts'
import type { ConversationRef } from '../../store/records.ts'
import type { EngineNode } from '../node.ts'
import { FlowOwner } from './flow-owner.ts'
import { openAgentIds, parkedStatus, readSentMessages } from './flow-state.ts'
import type { AskAgent } from './running-ops.ts'

/** Drives a session under a lease until it can be released. Resolves with the time until it is due again; null if it is not. */
export async function workOnFlow(
  node: EngineNode,
  ref: ConversationRef,
  lease: Lease,
  askAgent: AskAgent,
  onOwner: (owner: FlowOwner) => Promise<void>,
): Promise<number | null> {
  const { tenant, id } = ref
  const store = node.store.forTenant(tenant)
  const loaded = await node.flowStates.loadWhole(store, tenant, id)
  if (!loaded || loaded.state.ended) {
    // The verb that had it continue has marked it as active.
    const ended = loaded ? { conversation: { status: parkedStatus(loaded.state) } } : {}
    await store.commit(id, { events: [], epoch: lease.epoch, wakeAt: null, lease: 'release', ...ended })
    return null
  }
  const isWaiting = openAgentIds(loaded.state).length > 0
  const sent = readSentMessages(isWaiting ? await store.getConversation(id) : null)
  const owner = new FlowOwner({ node, ref, store, askAgent }, lease, loaded, sent)
  await onOwner(owner)
  await driveFlow(owner)
  node.flowStates.keep(tenant, id, owner.loaded)
  return owner.dueInMs
}

/**
 * The loop of a session: replay, decide, commit, act, repeat. Starting, continuing after an answer and recovering after a crash are this same loop. Resolves
 * when nothing can run any more and the session is released, or when another node has taken it. Rejects with `DeterminismError` when code and record differ;
 * nothing has been written then.
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
