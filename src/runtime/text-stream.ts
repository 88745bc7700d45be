import { findTurn } from '../log/state.ts'
import type { WatchEvent } from '../view/project-view.ts'
import { projectView } from '../view/project-view.ts'
import type { View } from '../view/view.ts'
import { outcomeOf } from './turn-outcome.ts'
import { watch } from './watch.ts'

/** The text of one turn as it comes. Text that was streamed and then withdrawn cannot be taken back here; `watch` tells of it. */
export async function* textStream(
  watched: Parameters<typeof watch>[0],
  turnId: string,
): AsyncGenerator<string, void, void> {
  const told = new Map<string, number>()
  let view: View | null = null
  for await (const event of watch(watched)) {
    view = view ? projectView(view, event) : snapshotOf(event)
    if (!view) continue
    for (const [messageId, text] of textsOf(view, turnId)) {
      const from = told.get(messageId) ?? 0
      if (text.length <= from) continue
      told.set(messageId, text.length)
      yield text.slice(from)
    }
    if (!findTurn(view.log, turnId) || outcomeOf(view.conversationId, view.log, turnId, view.children)) return
  }
}

function snapshotOf(event: WatchEvent): View | null {
  return event.type === 'snapshot' ? event.view : null
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
