import { EventInvalidError, EventUnknownError, type UnknownEvent } from '../base/errors/log-errors.ts'
import { isBlobRef } from './blob-ref.ts'
import type * as Log from './events.ts'
import type { EventContents, EventType, LogEvent, NewEvent } from './events.ts'
import {
  type Check,
  either,
  id,
  json,
  list,
  nullable,
  object,
  oneOf,
  optional,
  simple,
  text,
  union,
  whole,
} from './field-check.ts'

/**
 * Returns the event when its content matches its type. Throws `EventInvalidError` with the path of the first wrong field, and `EventUnknownError` for a type
 * that this version does not know. Accepts new events and events that have a place in a log.
 */
export function validateEvent<E extends Log.NewEvent>(event: E): E {
  if (!isKnownType(event.type)) throw new EventUnknownError(event)
  const check = contentChecks[event.type]
  if (!check.fits(event.content)) throw new EventInvalidError(event, check.problem(event.content, 'content'))
  return event
}

/**
 * Refuses events that no log may hold, before they are written: an unknown type, at which every node of this version would release the conversation for good,
 * and a content that does not match its type.
 */
export function checkNewEvent(event: Log.NewEvent): void {
  if (isKnownType(event.type)) validateEvent(event)
  else throw new EventInvalidError(event, `'type' must be one of ${Object.keys(contentChecks).join(', ')}`)
}

export function isKnownType(type: string): type is Log.EventType {
  return Object.hasOwn(contentChecks, type)
}

const blobRef = simple(isBlobRef, 'be a blob ref or a URL')
const jsonObject = object({})
const metadata = optional(jsonObject)
const executor = oneOf('server', 'human', 'client', 'provider', 'agent')
const suspensionKind = oneOf('approval', 'elicitation', 'client_exec', 'sub_agent', 'recovery')

const textPart = object<Log.TextPart>({ type: text, text, providerMetadata: metadata })
const filePart = object<Log.FilePart>({
  type: text,
  mediaType: id,
  data: either(text, blobRef),
  filename: optional(text),
})
const userPart = union('type', { text: textPart, file: filePart })
const assistantPart = union('type', {
  text: textPart,
  file: filePart,
  reasoning: textPart,
  source: object({ source: jsonObject }),
  provider_call: object<Log.ProviderCallPart>({
    type: text,
    providerCallId: text,
    name: text,
    args: json,
    providerMetadata: metadata,
  }),
  provider_result: object<Log.ProviderResultPart>({
    type: text,
    providerCallId: text,
    name: text,
    result: json,
    isError: optional(oneOf(true, false)),
    providerMetadata: metadata,
  }),
  call: object<Log.OwnCallPart>({ type: text, callId: id, providerMetadata: metadata }),
  plain_call: object<Log.PlainCallPart>({ type: text, providerCallId: text, name: text, args: json }),
} satisfies Record<Log.AssistantPart['type'], Check>)

const usage = object<Log.Usage>({
  inputTokens: optional(whole(0)),
  outputTokens: optional(whole(0)),
  cacheReadTokens: optional(whole(0)),
  cacheWriteTokens: optional(whole(0)),
  reasoningTokens: optional(whole(0)),
})

const flowOp = union('kind', {
  suspend: object({ tag: json, schema: optional(json) }),
  request: object({ request: text, payload: json }),
  step: object({ name: text, input: json, ifInterrupted: oneOf('rerun', 'report') }),
  sleep: object({ ms: whole(0) }),
  agent: object({ agent: id, id: nullable(id), message: text, data: optional(json) }),
  now: jsonObject,
  random: jsonObject,
  uuid: jsonObject,
} satisfies Record<Log.FlowOp['kind'], Check>)

const contentChecks: { readonly [Type in Log.EventType]: Check } = {
  user_msg: object<Log.UserMsg>({
    turnId: id,
    message: object<Log.UserMessage>({ parts: list(userPart) }),
    options: object({
      maxSteps: optional(whole(1)),
      maxTokens: optional(whole(1)),
      maxParallelCalls: optional(whole(1)),
      maxDepth: optional(whole(0)),
      untilTool: optional(text),
      output: optional(either(oneOf(false), jsonObject)),
    }),
    who: text,
    key: optional(id),
    data: optional(json),
    traceparent: optional(text),
    restoredAt: optional(whole(0)),
  }),
  assistant_msg: object<Log.AssistantMsg>({
    turnId: id,
    messageId: id,
    seen: whole(0),
    parts: list(assistantPart),
    model: object<Log.ModelRef>({ provider: text, modelId: text }),
    usage,
    finishReason: text,
    status: oneOf('complete', 'cancelled', 'failed'),
    object: optional(json),
    restoredAt: optional(whole(0)),
  }),
  tool_call: object<Log.ToolCallContent>({
    turnId: id,
    callId: id,
    providerCallId: text,
    name: text,
    args: json,
    executor,
    gated: oneOf(true, false),
    ifInterrupted: oneOf('report', 'rerun', 'ask'),
    timeoutMs: nullable(whole(1)),
    expiresInMs: nullable(whole(1)),
    prompt: optional(json),
    schema: optional(json),
    description: optional(text),
    restoredFrom: optional(id),
  }),
  tool_started: object<Log.EventContents['tool_started']>({ callId: id, attempt: whole(1) }),
  tool_asked: object<Log.ToolAsked>({ callId: id, round: whole(1), state: json }),
  suspension: object<Log.Suspension>({
    callId: id,
    round: whole(1),
    kind: suspensionKind,
    prompt: json,
    schema: json,
    expiresInMs: nullable(whole(1)),
    doneBefore: optional(object({ callId: id, outcome: oneOf('done', 'failed', 'unknown') })),
  }),
  resolution: object<Log.Resolution>({
    callId: id,
    round: whole(1),
    kind: suspensionKind,
    status: oneOf('resolved', 'denied', 'expired', 'cancelled'),
    value: json,
    who: text,
    edited: optional(object({ before: json, after: json })),
  }),
  deadline_moved: object<Log.DeadlineMoved>({
    callId: id,
    round: whole(1),
    expiresInMs: nullable(whole(1)),
    who: text,
  }),
  tool_result: union('ok', {
    true: object({ ok: oneOf(true), callId: id, result: json, outcome: optional(oneOf('unknown', 'ran')) }),
    false: object({
      ok: oneOf(false),
      callId: id,
      error: text,
      outcome: optional(oneOf('unknown', 'ran')),
      userFacing: optional(oneOf(true)),
    }),
  }),
  injection: object<Log.Injection>({ turnId: id, step: whole(0), hook: id, parts: list(userPart) }),
  regeneration: object<Log.EventContents['regeneration']>({ messageId: id, n: whole(1), feedback: text }),
  withheld: object<Log.Withheld>({ messageId: id, hook: id }),
  attempt_discarded: object<Log.AttemptDiscarded>({
    turnId: id,
    messageId: id,
    model: object<Log.ModelRef>({ provider: text, modelId: text }),
    usage,
    code: text,
  }),
  halted_by: object<Log.HaltedBy>({ callId: id, reason: text }),
  scope_missing: object<Log.ScopeMissing>({ turnId: id, who: text, reason: text }),
  state_set: object<Log.StateSet>({
    callId: optional(id),
    patch: object<Log.StatePatch>({ set: jsonObject, remove: list(text) }),
    exposed: list(text),
    who: text,
  }),
  state_refused: object<Log.StateRefused>({ callId: id, reason: text }),
  cancel_requested: object<Log.EventContents['cancel_requested']>({ turnId: id, who: text }),
  superseded: object<Log.Superseded>({ fromSeq: whole(1), by: id }),
  turn_ended: object<Log.TurnEnded>({
    turnId: id,
    status: oneOf('completed', 'cancelled', 'failed', 'halted'),
    reason: nullable(text),
  }),
  titled: object<Log.EventContents['titled']>({ title: nullable(text) }),
  note: object<Log.Note>({ name: id, data: json, who: text }),
  seeded: object<Log.EventContents['seeded']>({ state: json }),
  restored: object<Log.Restored>({ version: whole(1), seq: whole(0), through: whole(2) }),
  flow_started: object<Log.FlowStarted>({
    flow: id,
    version: text,
    input: json,
    who: text,
    traceparent: optional(text),
  }),
  flow_opened: object<Log.FlowOpened>({ position: whole(1), op: flowOp, asked: whole(1), id: optional(id) }),
  flow_outcome: union('ok', {
    true: object({ ok: oneOf(true), position: whole(1), value: json, who: optional(text) }),
    false: object({
      ok: oneOf(false),
      position: whole(1),
      error: text,
      code: optional(text),
      outcome: optional(oneOf('unknown', 'ran')),
      userFacing: optional(oneOf(true)),
      who: optional(text),
    }),
  }),
  flow_continued: object<Log.EventContents['flow_continued']>({ version: text, input: json }),
  flow_ended: union('status', {
    done: object({ status: oneOf('done'), result: json }),
    failed: object({ status: oneOf('failed'), error: text, userFacing: optional(oneOf(true)) }),
  }),
}

/** The events before the first of an unknown type: what readers see of a log that a later version has written to. */
export function knownPart(events: readonly LogEvent[]): {
  readonly known: readonly LogEvent[]
  readonly unknownEvent: UnknownEvent | null
} {
  const index = events.findIndex(({ type }) => !isKnownType(type))
  const unknown = events[index]
  if (!unknown) return { known: events, unknownEvent: null }
  return { known: events.slice(0, index), unknownEvent: new EventUnknownError(unknown).unknownEvent }
}

/** A `user_msg`: a message from a person. Like every constructor here, it throws `EventInvalidError` when the content has the wrong shape. */
export const userMsg = constructorOf('user_msg')
/** An `assistant_msg`: a message from the model, with the ids of its calls. */
export const assistantMsg = constructorOf('assistant_msg')
/** A `tool_call`: a call to run, with the decisions that are made once. */
export const toolCall = constructorOf('tool_call')
/** A `tool_started`: written before the tool runs. */
export const toolStarted = constructorOf('tool_started')
/** A `tool_asked`: the tool of this call asks, and is run again with the answer. */
export const toolAsked = constructorOf('tool_asked')
/** A `suspension`: a call waits for an answer. */
export const suspension = constructorOf('suspension')
/** A `resolution`: the answer to a suspension, or its expiry. */
export const resolution = constructorOf('resolution')
/** A `deadline_moved`: a call that waits has another deadline. */
export const deadlineMoved = constructorOf('deadline_moved')
/** A `tool_result`: how a call ended. */
export const toolResult = constructorOf('tool_result')
/** An `injection`: what a durable hook added to a model call. */
export const injection = constructorOf('injection')
/** A `regeneration`: a message that the model must write again, and why. */
export const regeneration = constructorOf('regeneration')
/** A `withheld`: the agent's hooks did not pass the message after it, so only operators read it. */
export const withheld = constructorOf('withheld')
/** An `attempt_discarded`: an attempt at a message broke off, and another one followed. */
export const attemptDiscarded = constructorOf('attempt_discarded')
/** A `halted_by`: the tool of this call ends the turn. */
export const haltedBy = constructorOf('halted_by')
/** A `scope_missing`: the turn waits until the scope of the user who opened it can be restored. */
export const scopeMissing = constructorOf('scope_missing')
/** A `state_set`: a change of the application's state. */
export const stateSet = constructorOf('state_set')
/** A `state_refused`: the state that a call set was refused. */
export const stateRefused = constructorOf('state_refused')
/** A `cancel_requested`: a request to end a turn. */
export const cancelRequested = constructorOf('cancel_requested')
/** A `superseded`: the turns from `fromSeq` on are withdrawn, and turn `by` is there in their place. */
export const superseded = constructorOf('superseded')
/** A `turn_ended`: how a turn ended. */
export const turnEnded = constructorOf('turn_ended')
/** A `titled`: the title of the conversation from now on; null removes it. */
export const titled = constructorOf('titled')
/** A `note`: something that the application keeps in the log. */
export const note = constructorOf('note')
/** A `seeded`: the state a conversation starts from; only valid as the first event. */
export const seeded = constructorOf('seeded')
/** A `restored`: the events after it come from a snapshot; only valid right after `seeded`. */
export const restored = constructorOf('restored')
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
