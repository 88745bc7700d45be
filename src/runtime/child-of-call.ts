import { parentCallOf } from '../engine/child/admit-child.ts'
import type { TenantStore } from '../store/store.ts'
import type { ReadCallRef } from './read-call-ref.ts'

/** The child agent of a conversation, or of one of its children, that a call is in; null for a call of its own, or of nobody below it. */
export async function childOfCall(store: TenantStore, id: string, call: ReadCallRef): Promise<string | null> {
  const { callId, conversationId } = call
  if (conversationId === id) return null
  const row = await store.getToolCall(callId)
  if (!row || row.conversationId === id) return null
  for (let parent = await parentCallOf(store, row.conversationId); parent; ) {
    if (parent.conversationId === id) return row.conversationId
    parent = await parentCallOf(store, parent.conversationId)
  }
  return null
}
