import { PerdureError } from '../../base/errors/perdure-error.ts'
import { callIdOfChild, childIdOf, childTurnIdOf } from '../../log/child-call.ts'
import { decide, endOf } from '../../log/decide.ts'
import { type ConversationState, openTurn } from '../../log/state.ts'
import type { TenantStore } from '../../store/store.ts'
import type { ParentCall } from './family.ts'

/** The call a conversation was started for; null when somebody talks to it. Only what has the name of a child is looked up. */
export async function parentCallOf(store: TenantStore, id: string): Promise<ParentCall | null> {
  const callId = callIdOfChild(id)
  if (callId === null) return null
  try {
    const parent = (await store.getConversation(id))?.parent
    if (parent?.callId === undefined || childIdOf(parent.callId) !== id) return null
    return { conversationId: parent.id, callId: parent.callId }
  } catch (error) {
    if (!PerdureError.isInstance(error) || error.code !== 'conversation_unreadable') throw error
    return callingFor(store, callId)
  }
}

/** The same, also for the id that a child will have once its call has been approved. */
export async function callOfChild(store: TenantStore, id: string): Promise<ParentCall | null> {
  const callId = callIdOfChild(id)
  if (callId === null) return null
  return (await parentCallOf(store, id)) ?? (await callingFor(store, callId))
}

/** The row of the call knows its conversation too, where that of the child is damaged or not there. */
async function callingFor(store: TenantStore, callId: string): Promise<ParentCall | null> {
  const call = await store.getToolCall(callId)
  return call?.executor === 'agent' ? { conversationId: call.conversationId, callId } : null
}

/**
 * Before a child agent is worked on: nobody may be waiting for it any more, because it was started, or went on, while its parent was being
 * deleted or cancelled elsewhere. Then it is deleted, or asked to end. False when it is gone.
 */
export async function admitChild(
  store: TenantStore,
  id: string,
  state: ConversationState,
  { conversationId, callId }: ParentCall,
): Promise<boolean> {
  const turnId = childTurnIdOf(callId)
  if (openTurn(state)?.turnId !== turnId) return true
  const row = await store.getToolCall(callId)
  if (row?.status === 'pending') return true
  if (!row && !(await store.getConversation(conversationId))) {
    await store.deleteConversation(id)
    return false
  }
  // Version 0.1 told the parent first: a child that died before it recorded its own end does that now.
  if (endOf(turnId, decide(state, new Set(), []).events)) return true
  const events = [{ type: 'cancel_requested' as const, content: { turnId, who: 'system' } }]
  await store.commit(id, { events, key: `cancel/${callId}` })
  return true
}
