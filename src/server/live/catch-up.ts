import { openTurn } from '../../log/state.ts'
import type { Conversation } from '../../runtime/conversation.ts'
import type { View } from '../../view/view.ts'
import type { Cursor } from './cursor.ts'
import { frameOf, snapshotFrame } from './frame.ts'

/** What a client that reads slowly has waiting for it. */
const page = { limit: 200, maxBytes: 256 * 1024 }

/**
 * What a client missed whose place is not in the feed any more: the withdrawal of text that is gone, the log since then, and where anything is
 * live, a snapshot of no more than `mostBytes` that has it. `view` and `now` are of the same moment; what comes after it is in the feed.
 */
export async function* catchUp(
  conversation: Pick<Conversation, 'events'>,
  cursor: Cursor,
  view: View,
  now: Cursor,
  mostBytes: number,
): AsyncGenerator<Uint8Array, void, void> {
  const { conversationId } = view
  const [behind, written] = [{ ...cursor, draft: null, place: null }, cursor.draft?.messageId]
  if (written !== undefined && !isKnown(view, written)) {
    const turnId = (openTurn(view.log) ?? view.log.turns.at(-1))?.turnId ?? ''
    const event = { type: 'message_discarded' as const, conversationId, seq: cursor.seq, turnId, messageId: written }
    yield frameOf(event, behind)
  }
  for (let after = cursor.seq; after < view.seq; ) {
    const events = await conversation.events({ ...page, after, before: view.seq + 1 })
    // It was deleted under our feet; the feed tells.
    if (events.length === 0) break
    for (const event of events) yield frameOf(event, { ...behind, seq: event.seq, at: event.at })
    after = events.at(-1)!.seq
  }
  if (cursor.place || isLive(view)) yield snapshotFrame(view, now, mostBytes)
}

/** Still being written, or in the log. */
function isKnown({ drafts, log }: View, messageId: string): boolean {
  const isCommitted = log.turns.some(({ items }) =>
    items.some((item) => item.type === 'assistant' && item.messageId === messageId),
  )
  return isCommitted || drafts.some((draft) => draft.messageId === messageId)
}

function isLive({ drafts, activity, progress, children }: View): boolean {
  return drafts.length > 0 || activity !== null || Object.keys(progress).length > 0 || children.pending.length > 0
}
