import type { LogEvent } from '../../log/events.ts'

/** Tells which events of a log are about some turns, given all of them in their order. */
export class TurnEvents {
  readonly #names: Set<string>

  constructor(turnIds: Iterable<string>) {
    this.#names = new Set(turnIds)
  }

  has(event: LogEvent): boolean {
    // A mark comes before its message, which tells whose it is; one without its message changes nothing.
    if (event.type === 'withheld') return true
    if (!this.#names.has(nameOf(event))) return false
    if (event.type === 'assistant_msg') this.#names.add(event.content.messageId)
    if (event.type === 'tool_call') this.#names.add(event.content.callId)
    return true
  }
}

/** What an event is about: its turn, else its call, else its message. */
function nameOf({ content }: LogEvent): string {
  const { turnId, callId, messageId } = content as { turnId?: string; callId?: string; messageId?: string }
  return turnId ?? callId ?? messageId ?? ''
}

/** A message of a person or of a model, as an event. */
export type MessageEvent = Extract<LogEvent, { type: 'user_msg' | 'assistant_msg' }>

export function isMessage(event: LogEvent): event is MessageEvent {
  return event.type === 'user_msg' || event.type === 'assistant_msg'
}

/** In places of their own, the first at `from`: what a fold takes. */
export function* renumbered(events: Iterable<LogEvent>, from: number): Generator<LogEvent> {
  let seq = from
  for (const event of events) {
    yield { ...event, seq }
    seq += 1
  }
}
