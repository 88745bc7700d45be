import type { Conversation } from '../runtime/conversation.ts'
import { projectView } from '../view/project-view.ts'
import type { View } from '../view/view.ts'

/** Waits until a conversation is in a state, as its log says: `idle`, `running`, `awaiting_input` or `terminating`. */
export async function untilState(conversation: Pick<Conversation, 'watch'>, state: View['state']): Promise<View> {
  let view: View | null = null
  for await (const event of conversation.watch()) {
    if (event.type === 'snapshot') view = event.view
    else if (view) view = projectView(view, event)
    if (view?.state === state) return view
  }
  throw new Error(`the conversation was let go of before it was ${state}`)
}
