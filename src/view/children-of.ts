import { childCalls, childIdOf } from '../log/child-call.ts'
import type { ConversationState } from '../log/state.ts'
import type { Children, PendingItem, View } from './view.ts'
import { isWaiting, pendingItems, viewOf } from './view-of.ts'

/** Where the child agents of a conversation stand, and theirs. `stateOf` is null for one that is not there yet, or not known. */
export function childrenOf(
  conversationId: string,
  state: ConversationState,
  stateOf: (childId: string) => ConversationState | null,
): Children {
  const waiting: string[] = []
  const pending: PendingItem[] = []
  for (const { callId } of childCalls(state)) {
    const childId = childIdOf(callId)
    const child = stateOf(childId)
    if (!child) continue
    const below = childrenOf(childId, child, stateOf)
    const items = [...pendingItems(childId, child), ...below.pending]
    pending.push(...items.map((item) => ({ ...item, path: [{ conversationId, callId }, ...item.path] })))
    if (isWaiting(child, below)) waiting.push(callId)
  }
  return { waiting, pending }
}

export function withChildren(view: View, children: Children): View {
  return viewOf(view.conversationId, view.log, { ...view, children })
}
