import type { EventOf, LogEvent } from '../log/events.ts'

/**
 * Empties the messages that no hook has passed: every reader but an operator gets events this way. The mark of such a message comes before it, so of a page that
 * begins with its message, `before` is the event before the first. Pure.
 */
export function* withoutWithheld(
  events: Iterable<LogEvent>,
  before: LogEvent | null = null,
): Generator<LogEvent, void, void> {
  const withheld = new Set<string>()
  if (before?.type === 'withheld') withheld.add(before.content.messageId)
  for (const event of events) {
    if (event.type === 'withheld') withheld.add(event.content.messageId)
    yield event.type === 'assistant_msg' && withheld.has(event.content.messageId) ? emptied(event) : event
  }
}

/** Keeps that there was a message, and its usage. */
export function emptied(event: EventOf<'assistant_msg'>): EventOf<'assistant_msg'> {
  const { object: _, ...content } = event.content
  return { ...event, content: { ...content, parts: [] } }
}
