import type { Json } from '../base/json.ts'
import { type CallEnd, callPhase } from './call-phase.ts'
import type {
  AssistantMsg,
  AssistantPart,
  AttemptDiscarded,
  CallResult,
  Injection,
  NewEvent,
  StateSet,
  ToolCallContent,
  TurnStatus,
} from './events.ts'
import { callPosition } from './fold-call.ts'
import { type CallState, type ConversationState, findCall, findTurn, type TurnState } from './state.ts'

/** Something that happened outside the log and is not recorded yet. */
export type Outcome = MessageOutcome | ResultOutcome | CancelOutcome | EndOutcome | InjectionOutcome | TitleOutcome

/** The model has answered, or failed after it began to answer. */
export type MessageOutcome = Omit<AssistantMsg, 'status'> & {
  readonly type: 'message'
  readonly status: 'complete' | 'failed'
  readonly calls: readonly DraftCall[]
  /** Why a failed message failed; the reason of the turn's end. */
  readonly failure?: string
  readonly verdict?: Verdict
  /** The attempts that broke off before this one. Absent when there were none. */
  readonly discarded?: readonly Omit<AttemptDiscarded, 'turnId'>[]
  /** The post-hook that did not pass the message. Absent when all hooks passed it, and for agents without hooks. */
  readonly withheld?: string
}

/** The verdict of a post-hook, or of the check of a structured output, on a message. */
export type Verdict =
  | { readonly type: 'halt'; readonly reason: string }
  | { readonly type: 'regenerate'; readonly n: number; readonly feedback: string }
  | { readonly type: 'fail'; readonly reason: string }

/** A call in a message. `result` ends it in the same commit: an unknown tool, or arguments that do not parse. */
export type DraftCall = Omit<ToolCallContent, 'turnId'> & { readonly result?: CallResult }

/** A tool in this process has returned, thrown or timed out. */
export type ResultOutcome = CallOutcome & {
  readonly type: 'result'
  readonly callId: string
  readonly attempt: number
}

export type CallOutcome = {
  readonly result: CallEnd
  /** Why the tool ends the turn. Absent if the turn continues. */
  readonly halt?: string
  /** What the tool asks in place of a result. `result` is then recorded only where the question cannot be. */
  readonly ask?: ToolQuestion
  /** What the tool set, computed on the state before this outcome: see `engine/turn/settle-state.ts`. */
  readonly state?: SettledState
}

/** A question of a server tool, which receives `state` again with the answer. */
export type ToolQuestion = {
  readonly prompt: Json
  /** JSON Schema of the answer. */
  readonly schema: Json
  readonly state: Json
  /** Null: it waits forever. Absent: as long as the tool's calls may wait. */
  readonly expiresInMs?: number | null
}

/** The change of the application's state that goes with a result, or why it was refused. */
export type SettledState = Pick<StateSet, 'patch' | 'exposed'> | { readonly refused: string }

/** Everything that ran for a turn with a `cancel_requested` has stopped. */
export type CancelOutcome = {
  readonly type: 'cancel'
  readonly turnId: string
  readonly partial?: Omit<MessageOutcome, 'type' | 'status' | 'verdict' | 'failure'>
}

/** The turn ends without a message: a pre-hook halted it, or no model could be reached. */
export type EndOutcome = {
  readonly type: 'end'
  readonly turnId: string
  readonly status: TurnStatus
  readonly reason: string | null
}

export type InjectionOutcome = Injection & { readonly type: 'injection' }

export type TitleOutcome = { readonly type: 'title'; readonly title: string }

/**
 * The events to append for an outcome. Pure and idempotent: by `messageId`, and by `callId` with `attempt`. After a conflict the same outcome is settled again
 * on the newer log, and nothing runs twice. Empty when the log has no place for the outcome any more.
 */
export function settle(state: ConversationState, outcome: Outcome): NewEvent[] {
  switch (outcome.type) {
    case 'message':
      return settleMessage(state, outcome)
    case 'result':
      return settleResult(state, outcome)
    case 'cancel':
      return settleCancel(state, outcome)
    case 'end': {
      const turn = liveTurn(state, outcome.turnId)
      if (!turn) return []
      if (turn.cancel) return terminate(turn, null)
      // Rarely any: a turn ends this way between its calls, unless something broke. A turn must never end over an open call.
      return [...turn.calls.flatMap((call) => cancelCall(call, 'system')), ended(turn, outcome.status, outcome.reason)]
    }
    case 'injection':
      return settleInjection(state, outcome)
    case 'title':
      return state.title === null ? [{ type: 'titled', content: { title: outcome.title } }] : []
  }
}

function settleMessage(state: ConversationState, outcome: MessageOutcome): NewEvent[] {
  const turn = liveTurn(state, outcome.turnId)
  if (!turn || hasMessage(turn, outcome.messageId)) return []
  if (turn.cancel) return terminate(turn, outcome)
  const events = messageEvents(turn, outcome)
  return outcome.discarded ? [...discardedEvents(outcome), ...events] : events
}

function discardedEvents({ turnId, discarded = [] }: Draft): NewEvent[] {
  return discarded.map((attempt) => ({ type: 'attempt_discarded', content: { turnId, ...attempt } }))
}

function messageEvents(turn: TurnState, outcome: MessageOutcome): NewEvent[] {
  if (outcome.status === 'failed') {
    const broken = outcome.parts.length > 0 ? messageForRecord(outcome, 'failed') : []
    return [...broken, ended(turn, 'failed', outcome.failure ?? 'model_failed')]
  }
  const { verdict, messageId } = outcome
  if (verdict) {
    const discarded = messageForRecord(outcome, 'complete')
    if (verdict.type === 'halt') return [...discarded, ended(turn, 'halted', verdict.reason)]
    if (verdict.type === 'fail') return [...discarded, ended(turn, 'failed', verdict.reason)]
    return [...discarded, { type: 'regeneration', content: { messageId, n: verdict.n, feedback: verdict.feedback } }]
  }
  return [
    { type: 'assistant_msg', content: message(outcome, 'complete') },
    ...outcome.calls.flatMap(({ result, ...call }): NewEvent[] => {
      const event: NewEvent = { type: 'tool_call', content: { turnId: turn.turnId, ...call } }
      return result ? [event, { type: 'tool_result', content: { callId: call.callId, ...result } }] : [event]
    }),
  ]
}

function settleResult(state: ConversationState, outcome: ResultOutcome): NewEvent[] {
  const { callId, attempt, result, state: set, halt, ask } = outcome
  const found = findCall(state, callId)
  if (!found || found.turn.end || found.call.attempts !== attempt) return []
  if (callPhase(found.call).type !== 'started') return []
  if (ask) return questionEvents(found.call, ask)
  const end: NewEvent = { type: 'tool_result', content: { callId, ...result } }
  // A prefix of a log may end between the two.
  const isKnown = found.turn.halt?.callId === callId
  const events: NewEvent[] = set && result.ok ? [stateEvent(callId, set, found.turn)] : []
  if (halt !== undefined && !isKnown) events.push({ type: 'halted_by', content: { callId, reason: halt } })
  return [...events, end]
}

/** The mark comes first, so that every prefix of the log that has the question also has what the tool gets back with its answer. */
function questionEvents({ callId, rounds, expiresInMs }: CallState, ask: ToolQuestion): NewEvent[] {
  const round = rounds.length + 1
  const { prompt, schema, state } = ask
  const expires = ask.expiresInMs === undefined ? expiresInMs : ask.expiresInMs
  return [
    { type: 'tool_asked', content: { callId, round, state } },
    { type: 'suspension', content: { callId, round, kind: 'elicitation', prompt, schema, expiresInMs: expires } },
  ]
}

/** Comes before the result, so that every prefix of the log that has the result also has what belongs to it. */
function stateEvent(callId: string, set: SettledState, turn: TurnState): NewEvent {
  if ('refused' in set) return { type: 'state_refused', content: { callId, reason: set.refused } }
  const who = turn.items.find((item) => item.type === 'user')?.who ?? 'system'
  return { type: 'state_set', content: { callId, ...set, who } }
}

function settleCancel(state: ConversationState, { turnId, partial }: CancelOutcome): NewEvent[] {
  const turn = liveTurn(state, turnId)
  if (!turn?.cancel) return []
  return terminate(turn, partial && !hasMessage(turn, partial.messageId) ? partial : null)
}

/** The one commit that answers `cancel_requested`: the partial message, the end of every open call, the end of the turn. */
function terminate(turn: TurnState, partial: Draft | null): NewEvent[] {
  const events: NewEvent[] = partial ? discardedEvents(partial) : []
  if (partial && partial.parts.length > 0) events.push(...messageForRecord(partial, 'cancelled'))
  for (const call of turn.calls) events.push(...cancelCall(call, turn.cancel!.who))
  events.push(ended(turn, 'cancelled', null))
  return events
}

function cancelCall(call: CallState, who: string): NewEvent[] {
  const { callId } = call
  const phase = callPhase(call)
  switch (phase.type) {
    case 'ended':
      return []
    case 'pending': {
      const { round, kind } = phase.round
      return [{ type: 'resolution', content: { callId, round, kind, status: 'cancelled', value: null, who } }]
    }
    case 'recovered':
      return [{ type: 'tool_result', content: { callId, ...phase.end } }]
    case 'started': {
      const error = 'cancelled while it ran: its outcome is unknown; it may have taken effect'
      return [{ type: 'tool_result', content: { callId, ok: false, error, outcome: 'unknown' } }]
    }
    default: {
      // A rerun that a person approved was already started once.
      const unknown = call.attempts > 0 ? { outcome: 'unknown' as const } : {}
      return [
        { type: 'tool_result', content: { callId, ok: false, error: 'cancelled before it was started', ...unknown } },
      ]
    }
  }
}

function settleInjection(state: ConversationState, { type: _, ...injection }: InjectionOutcome): NewEvent[] {
  const turn = liveTurn(state, injection.turnId)
  if (!turn || turn.cancel) return []
  const isKnown = turn.items.some(
    (item) => item.type === 'injection' && item.step === injection.step && item.hook === injection.hook,
  )
  return isKnown ? [] : [{ type: 'injection', content: injection }]
}

function liveTurn(state: ConversationState, turnId: string): TurnState | null {
  const turn = findTurn(state, turnId)
  return turn && !turn.end ? turn : null
}

function hasMessage(turn: TurnState, messageId: string): boolean {
  return turn.items.some((item) => item.type === 'assistant' && item.messageId === messageId)
}

type Draft = Omit<MessageOutcome, 'type' | 'status' | 'verdict' | 'failure'>

function message(draft: Draft, status: AssistantMsg['status']): AssistantMsg {
  const { turnId, messageId, seen, parts, model, usage, finishReason } = draft
  const object = draft.object === undefined ? {} : { object: draft.object }
  return { turnId, messageId, seen, parts, model, usage, finishReason, status, ...object }
}

/** A message that is not acted on, with its usage. One that no hook has passed comes after its mark, without its object. */
function messageForRecord(draft: Draft, status: AssistantMsg['status']): NewEvent[] {
  const { messageId, withheld: hook } = draft
  const content = { ...message(draft, status), parts: plainParts(draft) }
  if (hook === undefined) return [{ type: 'assistant_msg', content }]
  const { object: _, ...withoutObject } = content
  return [
    { type: 'withheld', content: { messageId, hook } },
    { type: 'assistant_msg', content: withoutObject },
  ]
}

/** Calls stay in such a message, as text about what the model wanted. */
function plainParts(draft: Draft): AssistantPart[] {
  return draft.parts.map((part) => {
    if (part.type !== 'call') return part
    const call = draft.calls[callPosition(draft.calls, part.callId)]
    return {
      type: 'plain_call',
      providerCallId: call?.providerCallId ?? '',
      name: call?.name ?? '',
      args: call?.args ?? null,
    }
  })
}

function ended(turn: TurnState, status: TurnStatus, reason: string | null): NewEvent {
  return { type: 'turn_ended', content: { turnId: turn.turnId, status, reason } }
}
