import type { LogEvent } from '../log/events.ts'
import { foldWithin, shownBytes } from '../log/trim-state.ts'
import type { LiveEvent } from './live-event.ts'
import { withLive, withoutSettled } from './live-parts.ts'
import type { View } from './view.ts'
import { isSettled, viewOf } from './view-of.ts'

/** What `watch` yields. */
export type WatchEvent = { readonly type: 'snapshot'; readonly view: View } | LogEvent | LiveEvent

/**
 * Applies one event to a view. Pure. A view that grows too large is trimmed to its newest messages: then `before` says where those before it are. An event that is in the view already changes nothing; neither does one past a gap (`view.seq` then stays
 * behind, and the reader should watch anew).
 */
export function projectView(view: View, event: WatchEvent): View {
  if (event.type === 'snapshot') return event.view
  if ('content' in event) {
    if (event.seq !== view.seq + 1) return view
    return viewOf(view.conversationId, foldWithin([event], view.log, 2 * shownBytes), withoutSettled(view, event))
  }
  return projectLive(view, event)
}

function projectLive(view: View, event: LiveEvent): View {
  const live = withLive(view, event)
  if (live === view) return view
  switch (event.type) {
    case 'text_delta':
    case 'reasoning_delta':
    case 'tool_input_delta':
      return isSettled(view.log, event) ? view : { ...view, drafts: live.drafts }
    default:
      return viewOf(view.conversationId, view.log, live)
  }
}
