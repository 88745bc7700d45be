import type { LogEvent } from '../log/events.ts'
import { GrowingView } from './growing-view.ts'
import type { LiveEvent } from './live-event.ts'
import type { View } from './view.ts'

/** What `watch` yields. */
export type WatchEvent = { readonly type: 'snapshot'; readonly view: View } | LogEvent | LiveEvent

/**
 * Applies one event to a view. Pure. A view that grows too large is trimmed to its newest messages: then `before` says where those before it are. An event that is in the view already changes nothing; neither does one past a gap (`view.seq` then stays
 * behind, and the reader should watch anew).
 */
export function projectView(view: View, event: WatchEvent): View {
  const growing = new GrowingView(view)
  growing.take(event)
  return growing.view
}
