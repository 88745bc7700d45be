import type { LogEvent } from 'perdure/client'

/** An event in one line, for its row in the log. Events of later versions have their type alone. */
export function describeEvent(event: LogEvent): string {
  switch (event.type) {
    case 'user_msg':
      return `${event.content.who}: ${partsText(event.content.message.parts)}`
    case 'assistant_msg': {
      const { status, parts } = event.content
      return `${status === 'complete' ? '' : `${status}: `}${partsText(parts)}`
    }
    case 'tool_call':
      return `${event.content.name} ${compact(event.content.args)}`
    case 'tool_started':
      return event.content.attempt > 1 ? `attempt ${event.content.attempt}` : ''
    case 'tool_asked':
      return `round ${event.content.round}`
    case 'suspension':
      return `${event.content.kind}${event.content.round > 1 ? `, round ${event.content.round}` : ''}`
    case 'resolution': {
      const { kind, status, who, edited } = event.content
      return `${kind} ${status} by ${who}${edited ? ', edited' : ''}`
    }
    case 'tool_result':
      return event.content.ok ? compact(event.content.result) : event.content.error
    case 'injection':
      return `${event.content.hook}: ${partsText(event.content.parts)}`
    case 'regeneration':
      return event.content.feedback
    case 'withheld':
      return `by ${event.content.hook}`
    case 'attempt_discarded':
      return `${event.content.model.modelId}: ${event.content.code}`
    case 'deadline_moved': {
      const { expiresInMs, who } = event.content
      return `${expiresInMs === null ? 'never' : `${Math.round(expiresInMs / 1_000)} s from here`} by ${who}`
    }
    case 'halted_by':
    case 'scope_missing':
    case 'state_refused':
      return event.content.reason
    case 'state_set': {
      const { set, remove } = event.content.patch
      return [...Object.keys(set), ...remove.map((key) => `-${key}`)].join(', ')
    }
    case 'cancel_requested':
      return `by ${event.content.who}`
    case 'superseded':
      return `from ${event.content.fromSeq}`
    case 'turn_ended':
      return event.content.reason === null ? event.content.status : `${event.content.status}: ${event.content.reason}`
    case 'titled':
      return event.content.title ?? 'removed'
    case 'note':
      return `${event.content.name} ${compact(event.content.data)}`
    case 'restored':
      return `up to ${event.content.through}`
    default:
      return ''
  }
}

type Part = { readonly type: string; readonly text?: string; readonly name?: string }

/** The text of a message, or the names of what it has instead. */
function partsText(parts: readonly Part[]): string {
  const text = parts.flatMap((part) => (part.type === 'text' && part.text ? [part.text] : [])).join(' ')
  if (text.trim() !== '') return oneLine(text)
  return parts.map(({ type, name }) => (name ? `${type} ${name}` : type)).join(', ')
}

function compact(value: unknown): string {
  return oneLine(JSON.stringify(value) ?? '')
}

function oneLine(text: string): string {
  return text.slice(0, 300).replaceAll(/\s+/g, ' ').trim()
}

/** Who acted, where the event says so. */
export function whoOf(event: LogEvent): string | null {
  const { who } = Object(event.content) as { who?: unknown }
  return typeof who === 'string' ? who : null
}
