import { PerdureError } from '../base/errors/perdure-error.ts'
import { OwnerOnlyError } from '../base/errors/store-errors.ts'
import { childResult, parentCallOf } from '../engine/child/child-calls.ts'
import { resolveChildCall } from '../engine/child/child-family.ts'
import { childCalls, childIdOf, childTurnIdOf } from '../log/child-call.ts'
import { tentative } from '../log/decide.ts'
import type { NewEvent } from '../log/events.ts'
import { foldEvents } from '../log/fold-events.ts'
import { fsmStateOf } from '../log/fsm-state.ts'
import { nextStep } from '../log/next-step.ts'
import { settle } from '../log/settle.ts'
import { type ConversationState, findTurn, openTurn } from '../log/state.ts'
import { changeFor } from '../store/change.ts'
import type { ConversationRef } from '../store/records.ts'
import type { TenantStore } from '../store/store.ts'
import type { RuntimeContext } from './runtime-context.ts'

type Runtime = Pick<RuntimeContext, 'worker'> & {
  readonly node: Pick<RuntimeContext['node'], 'store' | 'workingSets' | 'agents' | 'pauses'>
}

/**
 * Ends the turns of a quarantined or paused conversation that were asked to cancel. No process takes such a conversation, so it is done here: under the lease of the
 * quarantine, or without one where a paused conversation has none. Nothing of the application runs for it: no tool, no model, no hook, no persister. Does nothing for
 * any other conversation, and where a process still works on what is paused: it ends the turn.
 */
export async function cancelQuarantined(runtime: Runtime, ref: ConversationRef): Promise<void> {
  const { tenant, id } = ref
  const store = runtime.node.store.forTenant(tenant)
  for (;;) {
    const record = await store.getConversation(id)
    if (!record) return
    const epoch = record.quarantine?.epoch
    if (epoch === undefined && !(await runtime.node.pauses.isPaused({ ...ref, agent: record.agent }))) return
    const { state } = await runtime.node.workingSets.load(store, tenant, id)
    const events = endsOf(state)
    if (events.length === 0) return tellParent(runtime, ref, state, record.agent)
    if (openTurn(state)?.cancel) await cancelChildren(runtime, ref, state)
    const after = foldEvents(tentative(events, state.lastSeq), state)
    // Refused where the log has grown, or the quarantine has ended: then it is looked at again.
    const change = { ...changeFor(events, after), expectedSeq: state.lastSeq, fsmState: fsmStateOf(after) }
    const isOwned = await store.commit(id, epoch === undefined ? change : { ...change, epoch }).then(
      () => false,
      (error: unknown) => {
        if (epoch === undefined && error instanceof OwnerOnlyError) return true
        throw error
      },
    )
    if (isOwned) return
  }
}

/** The events that end the turns whose cancel was requested; empty if there are none. */
function endsOf(state: ConversationState): readonly NewEvent[] {
  const isAsked = state.turns.some((turn) => turn.cancel && !turn.end)
  const step = isAsked ? nextStep(state, new Set()) : null
  if (step?.type === 'terminate') return settle(state, { type: 'cancel', turnId: step.turnId })
  // Only of the queue: this step is not about the open turn.
  const isOfQueue = step?.type === 'commit' && step.events.every(({ type }) => type === 'turn_ended')
  return isOfQueue ? step.events : []
}

/** Asks the child agents of the open turn to end, without waiting for them. */
async function cancelChildren(runtime: Runtime, { tenant }: ConversationRef, state: ConversationState): Promise<void> {
  const who = openTurn(state)?.cancel?.who ?? 'system'
  for (const { callId } of childCalls(state)) {
    const content = { turnId: childTurnIdOf(callId), who }
    const change = { events: [{ type: 'cancel_requested' as const, content }], key: `cancel/${callId}` }
    const child = { tenant, id: childIdOf(callId) }
    if (await isCommitted(runtime.node.store.forTenant(tenant), child.id, change))
      await cancelQuarantined(runtime, child)
  }
}

/** False when it was never started, or is gone. */
async function isCommitted(
  store: TenantStore,
  id: string,
  change: Parameters<TenantStore['commit']>[1],
): Promise<boolean> {
  try {
    return (await store.commit(id, change)).ok
  } catch (error) {
    if (PerdureError.isInstance(error) && error.code === 'conversation_not_found') return false
    throw error
  }
}

/** Tells the parent how the child ended, as the owner would that a quarantined conversation does not have. */
async function tellParent(
  runtime: Runtime,
  { tenant, id }: ConversationRef,
  state: ConversationState,
  agent: string | null,
): Promise<void> {
  const parent = await parentCallOf(runtime.node.store.forTenant(tenant), id)
  const turn = parent && findTurn(state, childTurnIdOf(parent.callId))
  if (!parent || !turn?.end || agent === null) return
  await resolveChildCall(runtime, tenant, parent, childResult(agent, turn, turn.end), `agent:${agent}`)
}
