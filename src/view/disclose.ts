import type { Json, JsonObject } from '../base/json.ts'
import type { CallEnd } from '../log/call-phase.ts'
import type {
  AssistantPart,
  FlowEnded,
  FlowOutcome,
  LogEvent,
  Resolution,
  UserMessage,
  UserPart,
} from '../log/events.ts'
import type { CallState, ConversationState, Round, TurnItem, TurnState } from '../log/state.ts'
import { isKnownType } from '../log/validate-event.ts'
import type { WatchEvent } from './growing-view.ts'
import { hiddenChildError, hiddenError, hiddenReason, safePart, withoutWithheld } from './hidden-error.ts'
import type { LiveEvent, View, ViewMessage, ViewPart } from './view.ts'
import { viewOf } from './view-of.ts'

/**
 * What leaves the server. Everything a page is sent passes one of the functions below, and nothing else decides what it may know. Each gives
 * back the very object it was given where there is nothing to hide, and what was disclosed already does not change again.
 */
export type Disclosure = {
  /** What tools, providers and hooks said when they failed. Without it a page is told that they failed, and by which call or code. */
  readonly errors: boolean
  /** In events of the log, what a message says that no hook has passed. Without it such messages are empty; views never have it. */
  readonly withheld: boolean
}

/** For operators, and for whoever runs the code. */
export const everything: Disclosure = { errors: true, withheld: true }

/**
 * Events of the log, in their order; `before` is the one before the first. Folding them gives what `discloseState` gives of the whole.
 */
export function discloseEvents(
  events: readonly LogEvent[],
  disclosure: Disclosure,
  before: LogEvent | null = null,
): LogEvent[] {
  const shown = disclosure.withheld ? events : withoutWithheld(events, before)
  return Array.from(shown, (event) => discloseEvent(event, disclosure))
}

/** What `watch` yields. */
export function discloseWatched(event: WatchEvent, disclosure: Disclosure): WatchEvent {
  if (event.type === 'snapshot') {
    const view = discloseView(event.view, disclosure)
    return view === event.view ? event : { ...event, view }
  }
  return 'content' in event ? discloseEvent(event, disclosure) : discloseLive(event, disclosure)
}

/** A live event. */
export function discloseLive(event: LiveEvent, { errors }: Disclosure): LiveEvent {
  if (errors) return event
  switch (event.type) {
    case 'tool_call_errored':
      return { ...event, error: hiddenError(event, `call '${event.callId}'`) }
    case 'turn_failed':
      return { ...event, reason: hiddenReason('failed', event.reason) }
    default:
      return event
  }
}

/** A view, with the log it is computed from. */
export function discloseView(view: View, disclosure: Disclosure): View {
  const log = discloseState(view.log, disclosure)
  if (log === view.log) return view
  const { unknownEvent } = view
  return { ...viewOf(view.conversationId, log, view), ...(unknownEvent ? { unknownEvent } : {}) }
}

/** A folded log. */
export function discloseState(state: ConversationState, disclosure: Disclosure): ConversationState {
  const turns = mapped(state.turns, (turn) => discloseTurn(turn, disclosure))
  const seed = discloseSnapshot(state.seed, disclosure)
  return turns === state.turns && seed === state.seed ? state : { ...state, turns, seed }
}

/** A folded turn. */
export function discloseTurn(turn: TurnState, disclosure: Disclosure): TurnState {
  const items = mapped(turn.items, (item) => discloseItem(item, disclosure))
  if (disclosure.errors) return items === turn.items ? turn : { ...turn, items }
  const calls = mapped(turn.calls, withoutCallErrors)
  const reason = turn.end && hiddenReason(turn.end.status, turn.end.reason)
  const end = turn.end && (reason === turn.end.reason ? turn.end : { ...turn.end, reason })
  return calls === turn.calls && items === turn.items && end === turn.end ? turn : { ...turn, calls, items, end }
}

/** What a person said. */
export function discloseSaid<Said extends { readonly message: UserMessage }>(said: Said): Said {
  const message = withParts(said.message, safePart)
  return message === said.message ? said : { ...said, message }
}

/** Messages as people see them, without the log they come from. */
export function discloseMessages(messages: readonly ViewMessage[], disclosure: Disclosure): readonly ViewMessage[] {
  return mapped(messages, (message) =>
    message.role === 'user' ? withParts(message, safePart) : withParts(message, partOf(disclosure)),
  )
}

/** How a turn stands: of one that failed, its code. */
export function discloseOutcome<O extends { readonly status: string; readonly reason?: string | null }>(
  outcome: O,
  { errors }: Disclosure,
): O {
  const { status, reason } = outcome
  if (errors || reason === undefined || (status !== 'failed' && status !== 'detached')) return outcome
  return { ...outcome, reason: hiddenReason(status, reason) }
}

/** How a session stands. */
export function discloseStanding<S extends { readonly status: string }>(standing: S, { errors }: Disclosure): S {
  return errors ? standing : withoutFlowError(standing)
}

/** What operations of a session came to. */
export function discloseFlowOutcome<O extends FlowOutcome>(outcome: O, { errors }: Disclosure): O {
  if (errors) return outcome
  if (outcome.ok) return { ...outcome, value: withoutAnswerReason(outcome.value) }
  return { ...outcome, error: hiddenError(outcome, `step '${outcome.position}'`) }
}

/** The answer that counts, told to those who came later. */
export function discloseResolution<R extends Pick<Resolution, 'status' | 'value'>>(
  resolution: R,
  callId: string,
  { errors }: Disclosure,
): R {
  if (errors || resolution.status !== 'resolved') return resolution
  const value = withoutChildError(resolution.value, `call '${callId}'`)
  return value === resolution.value ? resolution : { ...resolution, value }
}

/** A snapshot of a conversation, of whatever version, also as `storeSnapshots` keeps it. */
export function discloseSnapshot(snapshot: Json, disclosure: Disclosure): Json {
  if (disclosure.errors || !isObject(snapshot)) return snapshot
  const inner = snapshot['state']
  if (inner !== undefined && isObject(inner)) {
    const state = discloseSnapshot(inner, disclosure)
    return state === inner ? snapshot : { ...snapshot, state }
  }
  if (!Array.isArray(snapshot['messages'])) return snapshot
  const kept = snapshot['messages'] as readonly Json[]
  const messages = mapped(kept, (message) => {
    if (!isObject(message) || !Array.isArray(message['parts'])) return message
    const parts = mapped(message['parts'] as readonly Json[], withoutSnapshotError)
    return parts === message['parts'] ? message : { ...message, parts }
  })
  return messages === kept ? snapshot : { ...snapshot, messages }
}

/** One event, of a log whose withheld messages are empty where they must be. */
export function discloseEvent(event: LogEvent, disclosure: Disclosure): LogEvent {
  switch (event.type) {
    case 'user_msg': {
      const content = discloseSaid(event.content)
      return content === event.content ? event : { ...event, content }
    }
    case 'injection': {
      const content = withParts(event.content, safePart)
      return content === event.content ? event : { ...event, content }
    }
    case 'assistant_msg': {
      const content = withParts(event.content, partOf(disclosure))
      return content === event.content ? event : { ...event, content }
    }
    default:
      return disclosure.errors ? event : withoutErrors(event, disclosure)
  }
}

function withoutErrors(event: LogEvent, disclosure: Disclosure): LogEvent {
  // What a later version wrote may hold what it would hide.
  if (!isKnownType(event.type)) return { ...(event as LogEvent), content: {} } as unknown as LogEvent
  switch (event.type) {
    case 'tool_result': {
      const { content } = event
      const end = withoutError(content, content.callId)
      return end === content ? event : { ...event, content: { ...content, ...end } }
    }
    case 'resolution': {
      const { content } = event
      if (content.kind !== 'sub_agent') return event
      const shown = discloseResolution(content, content.callId, disclosure)
      return shown === content ? event : { ...event, content: shown }
    }
    case 'turn_ended': {
      const { status, reason } = event.content
      return { ...event, content: { ...event.content, reason: hiddenReason(status, reason) } }
    }
    case 'seeded':
      return { ...event, content: { ...event.content, state: discloseSnapshot(event.content.state, disclosure) } }
    case 'flow_outcome':
      return { ...event, content: discloseFlowOutcome(event.content, disclosure) }
    case 'flow_ended':
      return { ...event, content: withoutFlowError(event.content) }
    default:
      return event
  }
}

const flowFailed = 'The session failed.'

function withoutFlowError<Ended extends { readonly status: string }>(ended: Ended): Ended {
  if (ended.status !== 'failed') return ended
  const { userFacing } = ended as Partial<Extract<FlowEnded, { status: 'failed' }>>
  return userFacing === true ? ended : { ...ended, error: flowFailed }
}

/** What a flow was told of an agent's turn that failed. */
function withoutAnswerReason(value: Json): Json {
  if (!isObject(value) || value['status'] !== 'failed' || typeof value['reason'] !== 'string') return value
  const isAnswer = Object.keys(value).length === 4 && 'text' in value && 'object' in value
  return isAnswer ? { ...value, reason: hiddenReason('failed', value['reason']) } : value
}

function withoutCallErrors(call: CallState): CallState {
  const result = call.result && withoutError(call.result, call.callId)
  const rounds = mapped(call.rounds, (round) => withoutRoundError(round, call.callId))
  return result === call.result && rounds === call.rounds ? call : { ...call, result, rounds }
}

function withoutError<End extends CallEnd>(end: End, callId: string): End {
  if (end.ok) return end
  const error = hiddenError(end, `call '${callId}'`)
  return error === end.error ? end : { ...end, error }
}

/** Only a child agent's answer holds words of a failure; the others are what a person or a page said. */
function withoutRoundError(round: Round, callId: string): Round {
  if (round.kind !== 'sub_agent' || round.resolution?.status !== 'resolved') return round
  const value = withoutChildError(round.resolution.value, `call '${callId}'`)
  return value === round.resolution.value ? round : { ...round, resolution: { ...round.resolution, value } }
}

function withoutChildError(value: Json, what: string): Json {
  if (!isObject(value) || value['ok'] !== false || typeof value['error'] !== 'string') return value
  const error = hiddenChildError({ error: value['error'] }, what)
  return error === value['error'] ? value : { ...value, error }
}

function discloseItem(item: TurnItem, disclosure: Disclosure): TurnItem {
  if (item.type === 'assistant') return withParts(item, partOf(disclosure))
  if (item.type === 'injection') return withParts(item, safePart)
  return discloseSaid(item)
}

type AnyPart = UserPart | AssistantPart | ViewPart
type ChangePart = <Part extends AnyPart>(part: Part) => Part

function partOf({ errors }: Disclosure): ChangePart {
  return (part) => (errors ? safePart(part) : withoutPartError(safePart(part)))
}

/** Of what the model's host ran, and of calls as a view has them. */
function withoutPartError<Part extends AnyPart>(part: Part): Part {
  if (part.type === 'provider_result' && part.isError) {
    const error = typeof part.result === 'string' ? part.result : ''
    const result = hiddenError({ error }, `call '${part.providerCallId}'`)
    return result === part.result ? part : { ...part, result }
  }
  if (part.type !== 'call' || !('end' in part) || !part.end) return part
  const { callId, executor, end } = part
  if (end.ok) return part
  const hide = executor === 'agent' ? hiddenChildError : hiddenError
  const error = hide(end, `call '${callId}'`)
  return error === end.error ? part : { ...part, end: { ...end, error } }
}

function withoutSnapshotError(part: Json): Json {
  if (!isObject(part) || part['type'] !== 'call' || part['status'] !== 'error') return part
  const error = typeof part['result'] === 'string' ? part['result'] : ''
  const result = hiddenError({ error }, `call '${String(part['callId'])}'`)
  return result === part['result'] ? part : { ...part, result }
}

function isObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The very object where no part of it changed. */
function withParts<Whole extends { readonly parts: readonly AnyPart[] }>(whole: Whole, change: ChangePart): Whole {
  const parts = mapped(whole.parts, (part) => change(part))
  return parts === whole.parts ? whole : { ...whole, parts }
}

/** The same list where nothing in it changed. */
function mapped<T>(list: readonly T[], change: (member: T) => T): readonly T[] {
  let isSame = true
  const changed = list.map((member) => {
    const next = change(member)
    if (next !== member) isSame = false
    return next
  })
  return isSame ? list : changed
}
