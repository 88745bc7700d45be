import type { EventContents, EventType, NewEvent } from './events.ts'
import { validateEvent } from './validate-event.ts'

/** A `user_msg`: a message from a person. Like every constructor here, it throws `EventInvalidError` when the content has the wrong shape. */
export const userMsg = constructorOf('user_msg')
/** An `assistant_msg`: a message from the model, with the ids of its calls. */
export const assistantMsg = constructorOf('assistant_msg')
/** A `tool_call`: a call to run, with the decisions that are made once. */
export const toolCall = constructorOf('tool_call')
/** A `tool_started`: written before the tool runs. */
export const toolStarted = constructorOf('tool_started')
/** A `suspension`: a call waits for an answer. */
export const suspension = constructorOf('suspension')
/** A `resolution`: the answer to a suspension, or its expiry. */
export const resolution = constructorOf('resolution')
/** A `tool_result`: how a call ended. */
export const toolResult = constructorOf('tool_result')
/** An `injection`: what a durable hook added to a model call. */
export const injection = constructorOf('injection')
/** A `regeneration`: a message that the model must write again, and why. */
export const regeneration = constructorOf('regeneration')
/** A `withheld`: the agent's hooks did not pass the message after it, so only operators read it. */
export const withheld = constructorOf('withheld')
/** A `cancel_requested`: a request to end a turn. */
export const cancelRequested = constructorOf('cancel_requested')
/** A `turn_ended`: how a turn ended. */
export const turnEnded = constructorOf('turn_ended')
/** A `titled`: the title of the conversation. */
export const titled = constructorOf('titled')
/** A `seeded`: the state a conversation starts from; only valid as the first event. */
export const seeded = constructorOf('seeded')
/** A `flow_started`: a session begins. */
export const flowStarted = constructorOf('flow_started')
/** A `flow_opened`: the flow's code asked for an operation. */
export const flowOpened = constructorOf('flow_opened')
/** A `flow_outcome`: the outcome of an operation. */
export const flowOutcome = constructorOf('flow_outcome')
/** A `flow_continued`: a session continues with a fresh record. */
export const flowContinued = constructorOf('flow_continued')
/** A `flow_ended`: how a session ended. */
export const flowEnded = constructorOf('flow_ended')

function constructorOf<Type extends EventType>(
  type: Type,
): (content: EventContents[Type]) => Extract<NewEvent, { type: Type }> {
  return (content) => validateEvent({ type, content } as Extract<NewEvent, { type: Type }>)
}
