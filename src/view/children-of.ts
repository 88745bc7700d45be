import { childCalls, childIdOf } from '../log/child-call.ts'
import type { ConversationState } from '../log/state.ts'
import { shownBytes, trimState } from '../log/trim-state.ts'
import type { Children, PendingItem, View } from './view.ts'
import { isWaiting, pendingItems, viewOf } from './view-of.ts'

/**
 * Where the child agents of a conversation stand, and theirs. `stateOf` is null for one that is not there yet, or not known. All that waits is told, but of what
 * is long only the beginnings where it would take more than about `maxBytes`.
 */
export function childrenOf(
  conversationId: string,
  state: ConversationState,
  stateOf: (childId: string) => ConversationState | null,
  maxBytes: number = shownBytes / 4,
): Children {
  const waiting: string[] = []
  const pending: PendingItem[] = []
  const calls = childCalls(state)
  // Half for the child itself, and half for those below it.
  const share = maxBytes / calls.length / 2
  for (const { callId } of calls) {
    const childId = childIdOf(callId)
    const child = stateOf(childId)
    if (!child) continue
    const below = childrenOf(childId, child, stateOf, share)
    const items = [...pendingItems(childId, trimState(child, share)), ...below.pending]
    pending.push(...items.map((item) => ({ ...item, path: [{ conversationId, callId }, ...item.path] })))
    if (isWaiting(child, below)) waiting.push(callId)
  }
  return { waiting, pending }
}

export function withChildren(view: View, children: Children): View {
  return viewOf(view.conversationId, view.log, { ...view, children })
}
