import type { LogEvent } from '../log/events.ts'
import { foldEvents } from '../log/fold-events.ts'
import { appendDelta } from './drafts.ts'
import type { Activity, LiveEvent } from './live-event.ts'
import type { View } from './view.ts'
import { isSettled, viewOf } from './view-of.ts'

/** What `watch` yields. */
export type WatchEvent = { readonly type: 'snapshot'; readonly view: View } | LogEvent | LiveEvent

/**
 * Applies one event to a view. Pure. An event that is in the view already changes nothing; neither does one past a gap (`view.seq` then stays
 * behind, and the reader should watch anew).
 */
export function projectView(view: View, event: WatchEvent): View {
  if (event.type === 'snapshot') return event.view
  if ('content' in event) {
    return event.seq === view.seq + 1 ? viewOf(view.conversationId, foldEvents([event], view.log), view) : view
  }
  return projectLive(view, event)
}

function projectLive(view: View, event: LiveEvent): View {
  switch (event.type) {
    case 'text_delta':
    case 'reasoning_delta':
    case 'tool_input_delta': {
      const drafts = appendDelta(view.drafts, event)
      return drafts === view.drafts || isSettled(view.log, event) ? view : { ...view, drafts }
    }
    case 'message_discarded': {
      const drafts = view.drafts.filter((draft) => draft.messageId !== event.messageId)
      return drafts.length === view.drafts.length ? view : { ...view, drafts }
    }
    case 'tool_progress':
      return viewOf(view.conversationId, view.log, {
        ...view,
        progress: { ...view.progress, [event.callId]: event.payload },
      })
    case 'state_changed':
      if (!isActivity(event.state) || event.seq < view.seq || view.activity === event.state) return view
      return viewOf(view.conversationId, view.log, { ...view, activity: event.state })
    default:
      // The others announce what the log says.
      return view
  }
}

export function isActivity(state: string): state is Activity {
  return state === 'preparing' || state === 'streaming' || state === 'executing_tools'
}
