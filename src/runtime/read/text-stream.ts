import { outcomeOf } from '../../engine/live/turn-outcome.ts'
import { findTurn } from '../../log/state.ts'
import { isTextDelta } from '../../view/drafts.ts'
import { GrowingView } from '../../view/growing-view.ts'
import type { View } from '../../view/view.ts'
import { type watch, watchWithMore } from './watch.ts'

/** The text of one turn as it comes. Text that was streamed and then withdrawn cannot be taken back here; `watch` tells of it. */
export async function* textStream(
  watched: Parameters<typeof watch>[0],
  turnId: string,
): AsyncGenerator<string, void, void> {
  const told = new Map<string, number>()
  let shown: GrowingView | null = null
  for await (const { event, hasMore } of watchWithMore(watched)) {
    if (shown) shown.take(event)
    else if (event.type === 'snapshot') shown = new GrowingView(event.view)
    // A commit may have thousands of events, and a view costs as much as it shows.
    if (!shown || (hasMore && !isTextDelta(event))) continue
    const { view } = shown
    for (const [messageId, text] of textsOf(view, turnId)) {
      const from = told.get(messageId) ?? 0
      if (text.length <= from) continue
      told.set(messageId, text.length)
      yield text.slice(from)
    }
    if (!findTurn(view.log, turnId) || outcomeOf(view.conversationId, view.log, turnId, view.children)) return
  }
}

function textsOf(view: View, turnId: string): [string, string][] {
  const committed = view.messages.flatMap((message): [string, string][] => {
    if (message.role !== 'assistant' || message.turnId !== turnId) return []
    return [[message.messageId, joined(message.parts)]]
  })
  const drafts = view.drafts
    .filter((draft) => draft.turnId === turnId)
    .map((draft): [string, string] => [draft.messageId, joined(draft.parts)])
  return [...committed, ...drafts]
}

function joined(parts: readonly { readonly type: string; readonly text?: string }[]): string {
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
}
