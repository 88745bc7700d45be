import type { Json } from '../base/json.ts'
import { type CallEnd, type CallPhase, callEnd, callPhase, interruptedEnd } from './call-phase.ts'
import { childRefusal } from './child-call.ts'
import type { NewEvent, SuspensionKind, TurnStatus } from './events.ts'
import { interruptibleAttempts } from './fold-call.ts'
import {
  type CallState,
  type ConversationState,
  keptMessages,
  openTurn,
  queuedTurns,
  type TurnState,
  tokensUsed,
} from './state.ts'
import { doneBefore } from './superseded.ts'

export { keptMessages }

/** What the owner of a conversation does next. */
export type Step =
  /** Call the model for this turn; `step` counts the turn's messages so far. */
  | { readonly type: 'model'; readonly turnId: string; readonly step: number }
  /** Append these events: they follow from the log alone. */
  | { readonly type: 'commit'; readonly events: readonly NewEvent[] }
  /** Stop what runs, then settle a `cancel` with the part of the message that has arrived. */
  | { readonly type: 'terminate'; readonly turnId: string }
  /** Something runs in this process; its outcome decides. */
  | { readonly type: 'wait' }
  /** Nothing runs or can run: release the lease until an event is appended. */
  | { readonly type: 'park'; readonly state: 'idle' | 'awaiting_input' }

const maxAttempts = 3
const defaultParallelCalls = 8

/** Decides from the log alone. `running` holds the ids of the calls that this process executes: none after a crash. */
export function nextStep(state: ConversationState, running: ReadonlySet<string>): Step {
  const cancelled = queuedTurns(state).filter((turn) => turn.cancel)
  if (cancelled.length > 0) {
    return { type: 'commit', events: cancelled.map((turn) => ended(turn, 'cancelled', null)) }
  }
  const turn = openTurn(state)
  if (!turn) return { type: 'park', state: 'idle' }
  if (turn.cancel) return { type: 'terminate', turnId: turn.turnId }
  return stepOfCalls(turn, running) ?? stepOfTurn(turn)
}

/** Null when every call of the turn has ended. */
function stepOfCalls(turn: TurnState, running: ReadonlySet<string>): Step | null {
  const events: NewEvent[] = []
  const limit = Math.max(1, turn.options.maxParallelCalls ?? defaultParallelCalls)
  let runningHere = turn.calls.filter((call) => running.has(call.callId)).length
  let isPending = false
  for (const call of turn.calls) {
    if (running.has(call.callId)) continue
    const phase = callPhase(call)
    if (phase.type === 'pending') isPending = true
    if (phase.type === 'unasked') events.push(suspensionOrRefusal(call, phase.kind, turn))
    if (phase.type === 'recovered') events.push(result(call, phase.end))
    if (isDue(call, phase)) {
      if (runningHere >= limit) continue
      runningHere += 1
      events.push({ type: 'tool_started', content: { callId: call.callId, attempt: call.attempts + 1 } })
    } else if (phase.type === 'started') {
      events.push(onInterrupted(call, turn))
    }
  }
  if (events.length > 0) return { type: 'commit', events }
  if (runningHere > 0) return { type: 'wait' }
  return isPending ? { type: 'park', state: 'awaiting_input' } : null
}

/** Whether the call's tool must run now, for the first time or again. */
export function isDue(call: CallState, phase: CallPhase): boolean {
  if (phase.type === 'ready') return true
  return phase.type === 'started' && call.ifInterrupted === 'rerun' && interruptibleAttempts(call) < maxAttempts
}

/** The event for a started call that no process runs any more and that is not run again. */
export function onInterrupted(call: CallState, turn: TurnState): NewEvent {
  return call.ifInterrupted === 'ask' ? suspension(call, 'recovery', turn) : result(call, interruptedEnd)
}

function stepOfTurn(turn: TurnState): Step {
  if (turn.halt) return end(turn, 'halted', turn.halt.reason)
  const messages = keptMessages(turn)
  const last = messages.at(-1)
  const { maxSteps, maxTokens, untilTool } = turn.options
  if (last?.status === 'failed') return end(turn, 'failed', 'model_failed')
  // A fork may end between a withheld message and its turn's end: that turn has no answer yet.
  if (last && !last.withheld && !hasNewsAfter(turn, last.seen)) {
    const isDone = turn.calls.some((call) => call.name === untilTool && callEnd(call)?.ok)
    if (isDone) return end(turn, 'completed', 'until_tool')
    if (!last.parts.some((part) => part.type === 'call')) return end(turn, 'completed', null)
  }
  if (maxSteps !== undefined && messages.length >= maxSteps) return end(turn, 'halted', 'max_steps')
  if (maxTokens !== undefined && tokensUsed(turn) >= maxTokens) return end(turn, 'halted', 'max_tokens')
  return { type: 'model', turnId: turn.turnId, step: messages.length }
}

function hasNewsAfter(turn: TurnState, seen: number): boolean {
  return turn.items.some((item) => item.type === 'user' && item.seq > seen)
}

/** A child agent that may not be started is not asked about either. */
function suspensionOrRefusal(call: CallState, kind: SuspensionKind, turn: TurnState): NewEvent {
  const refusal = call.executor === 'agent' ? childRefusal(turn) : null
  return refusal === null ? suspension(call, kind, turn) : result(call, { ok: false, error: refusal })
}

function suspension(call: CallState, kind: SuspensionKind, turn: TurnState): NewEvent {
  const { callId, expiresInMs } = call
  const round = call.rounds.length + 1
  // A child agent has no deadline; only people do.
  const expires = kind === 'sub_agent' ? null : expiresInMs
  const before = doneBefore(turn, call)
  return {
    type: 'suspension',
    content: {
      callId,
      round,
      kind,
      prompt: call.prompt ?? null,
      schema: answerSchema(call, kind),
      expiresInMs: expires,
      ...(before ? { doneBefore: before } : {}),
    },
  }
}

function result(call: CallState, end: CallEnd): NewEvent {
  return { type: 'tool_result', content: { callId: call.callId, ...end } }
}

function end(turn: TurnState, status: TurnStatus, reason: string | null): Step {
  return { type: 'commit', events: [ended(turn, status, reason)] }
}

function ended(turn: TurnState, status: TurnStatus, reason: string | null): NewEvent {
  return { type: 'turn_ended', content: { turnId: turn.turnId, status, reason } }
}

/** JSON Schema of the value that resolves a suspension of this kind. */
export function answerSchema(call: Pick<CallState, 'schema'>, kind: SuspensionKind): Json {
  switch (kind) {
    case 'approval':
      return { type: 'boolean' }
    case 'elicitation':
      return call.schema ?? true
    case 'client_exec':
    case 'sub_agent':
      return callResultSchema(call.schema ?? true)
    case 'recovery':
      return recoverySchema
  }
}

function callResultSchema(result: Json): Json {
  return {
    anyOf: [
      { type: 'object', properties: { ok: { const: true }, result }, required: ['ok', 'result'] },
      { type: 'object', properties: { ok: { const: false }, error: { type: 'string' } }, required: ['ok', 'error'] },
    ],
  }
}

const recoverySchema: Json = {
  anyOf: [{ enum: ['rerun', 'report'] }, { type: 'object', properties: { result: true }, required: ['result'] }],
}
