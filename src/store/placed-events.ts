import type { LogEvent, NewEvent } from '../log/events.ts'
import type { CommitResult } from './change.ts'

/** Committed events with the place and time the store gave them; null when that has to be read. */
export function placedEvents(
  conversationId: string,
  events: readonly NewEvent[],
  after: number,
  { seq, at }: Extract<CommitResult, { ok: true }>,
): LogEvent[] | null {
  if (events.length === 0) return []
  if (at === undefined || seq !== after + events.length) return null
  return events.map((event, index) => ({ ...event, conversationId, seq: after + 1 + index, at }))
}
