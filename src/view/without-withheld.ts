import type { EventOf, LogEvent } from '../log/events.ts'

/**
 * Empties the messages that no hook has passed: every reader but an operator gets events this way. `before` is the event before the first, which
 * is the mark of a page that begins with its message. Pure; returns the same list when nothing in it is withheld.
 */
export function withoutWithheld(events: readonly LogEvent[], before: LogEvent | null = null): readonly LogEvent[] {
  const withheld = new Set<string>()
  if (before?.type === 'withheld') withheld.add(before.content.messageId)
  for (const event of events) if (event.type === 'withheld') withheld.add(event.content.messageId)
  if (withheld.size === 0) return events
  return events.map((event) =>
    event.type === 'assistant_msg' && withheld.has(event.content.messageId) ? emptied(event) : event,
  )
}

/** Keeps that there was a message, and its usage. */
export function emptied(event: EventOf<'assistant_msg'>): EventOf<'assistant_msg'> {
  const { object: _, ...content } = event.content
  return { ...event, content: { ...content, parts: [] } }
}
