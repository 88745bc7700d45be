import type { Json, JsonObject } from '../base/json.ts'
import { pickKeys } from '../log/app-state.ts'
import type { CallEnd } from '../log/call-phase.ts'
import type {
  AssistantPart,
  FlowEnded,
  FlowOutcome,
  LogEvent,
  Resolution,
  StateSet,
  UserMessage,
  UserPart,
} from '../log/events.ts'
import type { CallState, ConversationState, Round, TurnItem, TurnState } from '../log/state.ts'
import type { Replaced } from '../log/superseded.ts'
import { isKnownType } from '../log/validate-event.ts'
import type { WatchEvent } from './growing-view.ts'
import {
  hiddenChildError,
  hiddenError,
  hiddenReason,
  hideWithheld,
  mapped,
  safePart,
  withoutToolState,
} from './hidden.ts'
import type { LiveEvent, View, ViewMessage, ViewPart } from './view.ts'
import { viewOf } from './view-of.ts'

/**
 * What leaves the server. Everything sent to a page passes through one of the functions below, and they alone decide what it contains. Each returns the same
 * object when there is nothing to hide. Disclosing twice gives the same result as disclosing once.
 */
export type Disclosure = {
  /** The error texts of tools, providers and hooks. Without it a page learns only that something failed, and its call id or error code. */
  readonly errors: boolean
  /**
   * The text of messages that no hook has passed, in log events, the keys of the application's state that are not exposed, and what a tool gets back with the
   * answer to its question. Without it such messages are empty, such keys absent, and the last is null. `messages` and `state` of a view never contain any.
   */
  readonly withheld: boolean
}

/** For operators, and for the application's own code. */
export const everything: Disclosure = { errors: true, withheld: true }

/** Discloses log events, in their order; `before` is the event before the first. Folding the result gives the same as `discloseState` of the whole log. */
export function discloseEvents(
  events: readonly LogEvent[],
  disclosure: Disclosure,
  before: LogEvent | null = null,
): LogEvent[] {
  const shown = disclosure.withheld ? events : hideWithheld(events, before)
  return Array.from(shown, (event) => discloseEvent(event, disclosure))
}

/** Discloses what `watch` yields. */
export function discloseWatched(event: WatchEvent, disclosure: Disclosure): WatchEvent {
  if (event.type === 'snapshot') {
    const view = discloseView(event.view, disclosure)
    return view === event.view ? event : { ...event, view }
  }
  return 'content' in event ? discloseEvent(event, disclosure) : discloseLive(event, disclosure)
}

/** Discloses a live event. */
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

/** Discloses a view, including the log it is computed from. */
export function discloseView(view: View, disclosure: Disclosure): View {
  const log = discloseState(view.log, disclosure)
  if (log === view.log) return view
  const { unknownEvent } = view
  return { ...viewOf(view.conversationId, log, view), ...(unknownEvent ? { unknownEvent } : {}) }
}

/** Discloses a folded log. */
export function discloseState(state: ConversationState, disclosure: Disclosure): ConversationState {
  const turns = mapped(state.turns, (turn) => discloseTurn(turn, disclosure))
  const seed = discloseSnapshot(state.seed, disclosure)
  const withdrawn = discloseReplaced(state.withdrawn, disclosure)
  const isSame = turns === state.turns && seed === state.seed && withdrawn === state.withdrawn
  const shown = isSame ? state : { ...state, turns, seed, ...(withdrawn ? { withdrawn } : {}) }
  if (disclosure.withheld || !shown.appState) return shown
  const { values, exposed } = shown.appState
  const keys = Object.keys(values)
  if (keys.every((key) => exposed.includes(key))) return shown
  return { ...shown, appState: { values: pickKeys(values, exposed), exposed } }
}

/** Discloses a folded turn. */
export function discloseTurn(given: TurnState, disclosure: Disclosure): TurnState {
  const replaced = discloseReplaced(given.replaced, disclosure)
  const turn = replaced && replaced !== given.replaced ? { ...given, replaced } : given
  const items = mapped(turn.items, (item) => discloseItem(item, disclosure))
  const calls = mapped(turn.calls, (call) => discloseCall(call, disclosure))
  if (disclosure.errors) return calls === turn.calls && items === turn.items ? turn : { ...turn, calls, items }
  const reason = turn.end && hiddenReason(turn.end.status, turn.end.reason)
  const end = turn.end && (reason === turn.end.reason ? turn.end : { ...turn.end, reason })
  return calls === turn.calls && items === turn.items && end === turn.end ? turn : { ...turn, calls, items, end }
}

function discloseReplaced(replaced: Replaced | undefined, disclosure: Disclosure): Replaced | undefined {
  const calls = replaced && mapped(replaced.calls, (call) => discloseCall(call, disclosure))
  return calls && calls !== replaced.calls ? { ...replaced, calls } : replaced
}

/** Discloses a person's message. */
export function discloseSaid<Said extends { readonly message: UserMessage }>(said: Said): Said {
  const message = withParts(said.message, safePart)
  return message === said.message ? said : { ...said, message }
}

/** Discloses messages of a view. */
export function discloseMessages(messages: readonly ViewMessage[], disclosure: Disclosure): readonly ViewMessage[] {
  return mapped(messages, (message) =>
    message.role === 'user' ? withParts(message, safePart) : withParts(message, partOf(disclosure)),
  )
}

/** Discloses the outcome of a turn. A failed turn shows only its code. */
export function discloseOutcome<O extends { readonly status: string; readonly reason?: string | null }>(
  outcome: O,
  { errors }: Disclosure,
): O {
  const { status, reason } = outcome
  if (errors || reason === undefined || (status !== 'failed' && status !== 'detached')) return outcome
  return { ...outcome, reason: hiddenReason(status, reason) }
}

/** Discloses the status of a flow session. */
export function discloseStanding<S extends { readonly status: string }>(standing: S, { errors }: Disclosure): S {
  return errors ? standing : withoutFlowError(standing)
}

/** Discloses the outcome of an operation of a flow session. */
export function discloseFlowOutcome<O extends FlowOutcome>(outcome: O, { errors }: Disclosure): O {
  if (errors) return outcome
  if (outcome.ok) return { ...outcome, value: withoutAnswerReason(outcome.value) }
  return { ...outcome, error: hiddenError(outcome, `step '${outcome.position}'`) }
}

/** Discloses the answer that won, for callers that answered later. */
export function discloseResolution<R extends Pick<Resolution, 'status' | 'value'>>(
  resolution: R,
  callId: string,
  { errors }: Disclosure,
): R {
  if (errors || resolution.status !== 'resolved') return resolution
  const value = withoutChildError(resolution.value, `call '${callId}'`)
  return value === resolution.value ? resolution : { ...resolution, value }
}

/** Discloses a snapshot of any version, including those that `storeSnapshots` keeps. */
export function discloseSnapshot(given: Json, disclosure: Disclosure): Json {
  const snapshot = disclosure.withheld ? given : withoutData(given)
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
  const turns = Array.isArray(snapshot['turns'])
    ? mapped(snapshot['turns'] as readonly Json[], withoutSnapshotReason)
    : null
  const isSame = messages === kept && (turns === null || turns === snapshot['turns'])
  return isSame ? snapshot : { ...snapshot, messages, ...(turns ? { turns } : {}) }
}

/** Failures of turns and calls in a snapshot are disclosed by the rules for any turn. */
function withoutSnapshotReason(given: Json): Json {
  const turn = withoutReplacedErrors(given)
  if (!isObject(turn) || turn['status'] !== 'failed' || typeof turn['reason'] !== 'string') return turn
  const reason = hiddenReason('failed', turn['reason'])
  return reason === turn['reason'] ? turn : { ...turn, reason }
}

function withoutReplacedErrors(turn: Json): Json {
  if (!isObject(turn) || !Array.isArray(turn['replaced'])) return turn
  const replaced = mapped(turn['replaced'] as readonly Json[], withoutSnapshotError)
  return replaced === turn['replaced'] ? turn : { ...turn, replaced }
}

/** A snapshot has the whole state of the application, and does not say which keys are exposed. */
function withoutData(snapshot: Json): Json {
  if (!isObject(snapshot) || !('data' in snapshot) || !Array.isArray(snapshot['messages'])) return snapshot
  const { data: _, ...rest } = snapshot
  return rest
}

/** Discloses one event of a log whose withheld messages are already empty where they must be. */
export function discloseEvent(event: LogEvent, disclosure: Disclosure): LogEvent {
  switch (event.type) {
    case 'user_msg': {
      const content = discloseSaid(disclosure.withheld ? event.content : withoutTrace(event.content))
      return content === event.content ? event : { ...event, content }
    }
    case 'flow_started': {
      const content = disclosure.withheld ? event.content : withoutTrace(event.content)
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
    case 'state_set': {
      const content = disclosure.withheld ? event.content : exposedOf(event.content)
      return content === event.content ? event : { ...event, content }
    }
    case 'tool_asked':
      if (disclosure.withheld || event.content.state === null) return event
      return { ...event, content: { ...event.content, state: null } }
    default:
      return disclosure.errors ? event : withoutErrors(event, disclosure)
  }
}

/** Traces are of the systems around the server, and of no use to a page. */
function withoutTrace<Content extends { readonly traceparent?: string }>(content: Content): Content {
  if (content.traceparent === undefined) return content
  const { traceparent: _, ...shown } = content
  return shown as Content
}

/** A change of state, as far as its keys are exposed. */
function exposedOf<Change extends Pick<StateSet, 'patch' | 'exposed'>>(change: Change): Change {
  const { patch, exposed } = change
  const isShown = (key: string): boolean => exposed.includes(key)
  if (Object.keys(patch.set).every(isShown) && patch.remove.every(isShown)) return change
  return { ...change, patch: { set: pickKeys(patch.set, exposed), remove: patch.remove.filter(isShown) } }
}

/** A change that its call has not brought about yet. */
function withExposedState(call: CallState): CallState {
  const stateSet = call.stateSet && exposedOf(call.stateSet)
  return stateSet === call.stateSet ? call : { ...call, ...(stateSet ? { stateSet } : {}) }
}

function withoutErrors(event: LogEvent, disclosure: Disclosure): LogEvent {
  // An event of a later version may hold something that version would hide.
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
    case 'scope_missing':
      return { ...event, content: { ...event.content, reason: hiddenScope } }
    case 'state_refused':
      return { ...event, content: { ...event.content, reason: hiddenRefusal } }
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

/** The reason quotes a schema, or code of the application. */
const hiddenRefusal = 'The state was not changed.'

/** The reason quotes code of the application. */
const hiddenScope = 'The scope could not be restored.'

const flowFailed = 'The session failed.'

function withoutFlowError<Ended extends { readonly status: string }>(ended: Ended): Ended {
  if (ended.status !== 'failed') return ended
  const { userFacing } = ended as Partial<Extract<FlowEnded, { status: 'failed' }>>
  return userFacing === true ? ended : { ...ended, error: flowFailed }
}

/** Hides the reason in an agent's answer when its turn failed. */
function withoutAnswerReason(value: Json): Json {
  if (!isObject(value) || value['status'] !== 'failed' || typeof value['reason'] !== 'string') return value
  const isAnswer = Object.keys(value).length === 4 && 'text' in value && 'object' in value
  return isAnswer ? { ...value, reason: hiddenReason('failed', value['reason']) } : value
}

function discloseCall(call: CallState, { errors, withheld }: Disclosure): CallState {
  const shown = withheld ? call : withoutToolState(withExposedState(call))
  return errors ? shown : withoutCallErrors(shown)
}

function withoutCallErrors(call: CallState): CallState {
  const result = call.result && withoutError(call.result, call.callId)
  const rounds = mapped(call.rounds, (round) => withoutRoundError(round, call.callId))
  const refused = call.stateRefused === undefined ? {} : { stateRefused: hiddenRefusal }
  const isSame = result === call.result && rounds === call.rounds && call.stateRefused === refused.stateRefused
  return isSame ? call : { ...call, result, rounds, ...refused }
}

function withoutError<End extends CallEnd>(end: End, callId: string): End {
  if (end.ok) return end
  const error = hiddenError(end, `call '${callId}'`)
  return error === end.error ? end : { ...end, error }
}

/** Only a child agent's answer can hold the text of a failure; other answers come from a person or a page. */
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

/** Hides errors of calls that the provider ran, and of calls in a view. */
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

/** Returns the same object when no part changed. */
function withParts<Whole extends { readonly parts: readonly AnyPart[] }>(whole: Whole, change: ChangePart): Whole {
  const parts = mapped(whole.parts, (part) => change(part))
  return parts === whole.parts ? whole : { ...whole, parts }
}
