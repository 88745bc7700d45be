import type { EventContents, EventType, NewEvent } from './events.ts'
import { validateEvent } from './validate-event.ts'

/** A `user_msg`: a person said something. As all of these, throws `EventInvalidError` for a content of another shape. */
export const userMsg = constructorOf('user_msg')
/** An `assistant_msg`: the model said something, with the ids of its calls. */
export const assistantMsg = constructorOf('assistant_msg')
/** A `tool_call`: what is to be run, with the decisions that are taken once. */
export const toolCall = constructorOf('tool_call')
/** A `tool_started`: written before the tool runs. */
export const toolStarted = constructorOf('tool_started')
/** A `suspension`: a call waits for somebody. */
export const suspension = constructorOf('suspension')
/** A `resolution`: somebody answered, or nobody did in time. */
export const resolution = constructorOf('resolution')
/** A `tool_result`: how a call ended. */
export const toolResult = constructorOf('tool_result')
/** An `injection`: what a durable hook added to a model call. */
export const injection = constructorOf('injection')
/** A `regeneration`: a message that is to be written again, and why. */
export const regeneration = constructorOf('regeneration')
/** A `withheld`: the message after it was not passed by the agent's hooks, so only operators read it. */
export const withheld = constructorOf('withheld')
/** A `cancel_requested`: somebody wants a turn to end. */
export const cancelRequested = constructorOf('cancel_requested')
/** A `turn_ended`: how a turn ended. */
export const turnEnded = constructorOf('turn_ended')
/** A `titled`: the title of the conversation. */
export const titled = constructorOf('titled')
/** A `seeded`: what a conversation begins with; only as the first event. */
export const seeded = constructorOf('seeded')
/** A `flow_started`: a session begins. */
export const flowStarted = constructorOf('flow_started')
/** A `flow_opened`: the code asked for something. */
export const flowOpened = constructorOf('flow_opened')
/** A `flow_outcome`: what came of what the code asked for. */
export const flowOutcome = constructorOf('flow_outcome')
/** A `flow_continued`: a session goes on with a fresh record. */
export const flowContinued = constructorOf('flow_continued')
/** A `flow_ended`: how a session ended. */
export const flowEnded = constructorOf('flow_ended')

function constructorOf<Type extends EventType>(
  type: Type,
): (content: EventContents[Type]) => Extract<NewEvent, { type: Type }> {
  return (content) => validateEvent({ type, content } as Extract<NewEvent, { type: Type }>)
}
