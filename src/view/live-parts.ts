import type { LogEvent } from '../log/events.ts'
import { appendDelta } from './drafts.ts'
import type { Activity, LiveEvent } from './live-event.ts'
import type { Children, View } from './view.ts'

/** What a view shows beside its log. */
export type LiveParts = Pick<View, 'activity' | 'drafts' | 'progress' | 'children'>

export const noChildren: Children = { waiting: [], pending: [] }

export const nothingLive: LiveParts = { activity: null, drafts: [], progress: {}, children: noChildren }

/** With what a live event tells. The same object when it tells nothing that is kept. */
export function withLive(parts: LiveParts, event: LiveEvent): LiveParts {
  switch (event.type) {
    case 'text_delta':
    case 'reasoning_delta':
    case 'tool_input_delta': {
      const drafts = appendDelta(parts.drafts, event)
      return drafts === parts.drafts ? parts : { ...parts, drafts }
    }
    case 'message_discarded':
      return withoutDrafts(parts, ({ messageId }) => messageId === event.messageId)
    case 'tool_progress':
      return { ...parts, progress: { ...parts.progress, [event.callId]: event.payload } }
    case 'state_changed': {
      const activity = isActivity(event.state) ? event.state : null
      return activity === parts.activity ? parts : { ...parts, activity }
    }
    case 'children_changed': {
      const { waiting, pending } = event
      return { ...parts, children: { waiting, pending } }
    }
    default:
      // The others announce what the log says.
      return parts
  }
}

/** Without what a committed event makes a thing of the past. */
export function withoutSettled(parts: LiveParts, event: LogEvent): LiveParts {
  switch (event.type) {
    case 'assistant_msg':
      return withoutDrafts(parts, ({ messageId }) => messageId === event.content.messageId)
    // A call that begins anew, waits for somebody or has ended is not where it was.
    case 'tool_started':
    case 'suspension':
    case 'resolution':
    case 'tool_result': {
      if (!(event.content.callId in parts.progress)) return parts
      const { [event.content.callId]: _, ...progress } = parts.progress
      return { ...parts, progress }
    }
    case 'turn_ended':
      return { ...withoutDrafts(parts, ({ turnId }) => turnId === event.content.turnId), activity: null, progress: {} }
    default:
      return parts
  }
}

function withoutDrafts(parts: LiveParts, isGone: (draft: LiveParts['drafts'][number]) => boolean): LiveParts {
  const drafts = parts.drafts.filter((draft) => !isGone(draft))
  return drafts.length === parts.drafts.length ? parts : { ...parts, drafts }
}

function isActivity(state: string): state is Activity {
  return state === 'preparing' || state === 'streaming' || state === 'executing_tools'
}
