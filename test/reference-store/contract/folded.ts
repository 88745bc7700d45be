import { PerdureError } from '../../../src/base/errors/perdure-error.ts'
import type { LogEvent } from '../../../src/log/events.ts'
import { foldEvents } from '../../../src/log/fold-events.ts'
import type { ConversationState } from '../../../src/log/state.ts'
import type { Event } from './state.ts'

/** The state a log stands for; null for one that makes no sense, as random ones may. */
export function folded(events: readonly Event[]): ConversationState | null {
  const log = events.map(({ type, content }, index) => ({ type, content, conversationId: '', seq: index + 1, at: 0 }))
  try {
    return foldEvents(log as unknown as LogEvent[])
  } catch (error) {
    if (PerdureError.isInstance(error)) return null
    throw error
  }
}
