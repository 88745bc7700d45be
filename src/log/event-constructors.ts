import type { EventContents, EventType, NewEvent } from './events.ts'
import { validateEvent } from './validate-event.ts'

/** One per event type: the event of that content, or `EventInvalidError`. */
export const userMsg = constructorOf('user_msg')
export const assistantMsg = constructorOf('assistant_msg')
export const toolCall = constructorOf('tool_call')
export const toolStarted = constructorOf('tool_started')
export const suspension = constructorOf('suspension')
export const resolution = constructorOf('resolution')
export const toolResult = constructorOf('tool_result')
export const injection = constructorOf('injection')
export const regeneration = constructorOf('regeneration')
export const cancelRequested = constructorOf('cancel_requested')
export const turnEnded = constructorOf('turn_ended')
export const titled = constructorOf('titled')
export const seeded = constructorOf('seeded')
export const flowStarted = constructorOf('flow_started')
export const flowOpened = constructorOf('flow_opened')
export const flowOutcome = constructorOf('flow_outcome')
export const flowContinued = constructorOf('flow_continued')
export const flowEnded = constructorOf('flow_ended')

function constructorOf<Type extends EventType>(
  type: Type,
): (content: EventContents[Type]) => Extract<NewEvent, { type: Type }> {
  return (content) => validateEvent({ type, content } as Extract<NewEvent, { type: Type }>)
}
