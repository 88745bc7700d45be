import type { Redact } from '../../base/redact/redactor.ts'
import type { NewEvent } from '../../log/events.ts'

/** An event of a session without the secrets in what steps and flows threw. Whatever is committed by the owner of a session has passed it. */
export function redactFlowEvent(event: NewEvent, redact: Redact): NewEvent {
  if (event.type === 'flow_outcome' && !event.content.ok)
    return { ...event, content: { ...event.content, error: redact(event.content.error) } }
  if (event.type === 'flow_ended' && event.content.status === 'failed')
    return { ...event, content: { ...event.content, error: redact(event.content.error) } }
  return event
}
