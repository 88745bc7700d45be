import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import type { LogEvent } from '../../src/log/events.ts'

/** A prompt as lines of `role: text`; calls and results by the name of their tool. */
export function linesOf(prompt: LanguageModelV4Prompt): string[] {
  return prompt.map(({ role, content }) => {
    if (typeof content === 'string') return `${role}: ${content}`
    const words = content.map((part) => {
      if (part.type === 'text' || part.type === 'reasoning') return part.text
      return 'toolName' in part ? `[${part.type} ${part.toolName}]` : `[${part.type}]`
    })
    return `${role}: ${words.join(' ')}`
  })
}

/** A log as a list of types, with what tells the events of a type apart. */
export function shapeOf(events: readonly LogEvent[]): string[] {
  return events.map((event) => {
    switch (event.type) {
      case 'assistant_msg':
        return `assistant_msg ${event.content.status}`
      case 'turn_ended':
        return `turn_ended ${event.content.status}`
      case 'resolution':
        return `resolution ${event.content.status}`
      default:
        return event.type
    }
  })
}
