import type { Conversation } from '../../src/runtime/conversation.ts'
import { projectView } from '../../src/view/growing-view.ts'
import type { View } from '../../src/view/view.ts'

/** Waits until the message being written reads like this. */
export async function untilShown(chat: Pick<Conversation, 'watch'>, text: string): Promise<View> {
  let view: View | null = null
  for await (const event of chat.watch()) {
    if (event.type === 'snapshot') view = event.view
    else if (view) view = projectView(view, event)
    if (view?.drafts.some(({ parts }) => parts.map((part) => part.text).join('') === text)) return view
  }
  throw new Error(`the conversation was let go of before '${text}' was shown`)
}
