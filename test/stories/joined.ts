import type { Conversation } from '../../src/runtime/conversation.ts'
import { projectView, type WatchEvent } from '../../src/view/growing-view.ts'
import type { View } from '../../src/view/view.ts'

export type Watcher = {
  /** All it was given so far. */
  readonly events: readonly WatchEvent[]
  /** Goes on watching until it is given this; returns the view it makes of everything, and leaves. */
  until(isEnough: (event: WatchEvent, view: View) => boolean): Promise<View>
}

/** Joins a conversation: resolves when the watcher has its snapshot, and nothing that comes now is missed. */
export async function joined(chat: Pick<Conversation, 'watch'>): Promise<Watcher> {
  const events: WatchEvent[] = []
  const watching = chat.watch()
  const first = await watching.next()
  if (first.done || first.value.type !== 'snapshot') throw new Error('a watcher begins with a snapshot')
  events.push(first.value)
  let { view } = first.value
  return {
    events,
    until: async (isEnough) => {
      for (let event: WatchEvent = first.value!; !isEnough(event, view); ) {
        const next = await watching.next()
        if (next.done) throw new Error('it ended too soon')
        event = next.value
        events.push(event)
        view = projectView(view, event)
      }
      await watching.return()
      return view
    },
  }
}

export function isIdle(event: WatchEvent, view: View): boolean {
  return view.phase === 'idle' && event.type === 'phase_changed' && event.phase === 'idle'
}
