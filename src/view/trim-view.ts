import { trimState } from '../log/trim-state.ts'
import type { View } from './view.ts'
import { viewOf } from './view-of.ts'

/** The newest of a view, made of about so many bytes of its log. The same object where it fits. */
export function trimView(view: View, maxBytes: number): View {
  const log = trimState(view.log, maxBytes)
  if (log === view.log) return view
  const { unknownEvent } = view
  return { ...viewOf(view.conversationId, log, view), ...(unknownEvent ? { unknownEvent } : {}) }
}
