import type { LogEvent } from '../../log/events.ts'
import { excerpt } from './excerpt.ts'

/** What an event says, on one line. */
export function eventText(event: LogEvent): string {
  switch (event.type) {
    case 'user_msg':
      return partsText(event.content.message.parts)
    case 'assistant_msg':
    case 'injection':
      return partsText(event.content.parts)
    case 'tool_call':
      return `${event.content.name} ${excerpt(event.content.args, false)}`
    case 'tool_started':
      return event.content.attempt > 1 ? `attempt ${event.content.attempt}` : ''
    case 'suspension':
      return event.content.kind
    case 'resolution':
      return `${event.content.status} by ${event.content.who}`
    case 'tool_result':
      return event.content.ok ? excerpt(event.content.result, false) : event.content.error
    case 'regeneration':
      return event.content.feedback
    case 'withheld':
      return `not passed by the hook '${event.content.hook}'`
    case 'cancel_requested':
      return `by ${event.content.who}`
    case 'turn_ended':
      return [event.content.status, event.content.reason].filter((each) => each !== null).join(': ')
    case 'titled':
      return event.content.title
    default:
      return excerpt(event.content, false)
  }
}

function partsText(parts: readonly { readonly type: string; readonly text?: string }[]): string {
  return parts.map((part) => (part.type === 'text' ? (part.text ?? '') : `[${part.type}]`)).join(' ')
}
