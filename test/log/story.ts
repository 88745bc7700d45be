import type { Json, JsonObject } from '../../src/base/json.ts'
import type {
  AssistantMsg,
  AssistantPart,
  InterruptedEnd,
  LogEvent,
  NewEvent,
  Resolution,
  Suspension,
  ToolCallContent,
  TurnOptions,
  TurnStatus,
} from '../../src/log/events.ts'
import { foldEvents } from '../../src/log/fold-events.ts'
import type { DraftCall, MessageOutcome } from '../../src/log/settle.ts'
import type { ConversationState } from '../../src/log/state.ts'
import {
  assistantMsg,
  cancelRequested,
  deadlineMoved,
  haltedBy,
  note,
  regeneration,
  resolution,
  stateSet,
  superseded,
  suspension,
  toolCall,
  toolResult,
  toolStarted,
  turnEnded,
  userMsg,
  withheld,
} from '../../src/log/validate-event.ts'

/** Short words for the events of a story. Turns are 't1', 't2' ..., calls 'c1', 'c2' ..., messages 'm1', 'm2' ... */

/** Gives events their places, as a store would. */
export function placed(events: readonly NewEvent[], after = 0): LogEvent[] {
  return events.map((event, index) => {
    const seq = after + index + 1
    return { ...event, conversationId: 'story', seq, at: seq * 1_000 }
  })
}

export function stateOf(events: readonly NewEvent[]): ConversationState {
  return foldEvents(placed(events))
}

/** The state after more events. */
export function continued(state: ConversationState, events: readonly NewEvent[]): ConversationState {
  return foldEvents(placed(events, state.lastSeq), state)
}

export function said(turnId: string, options: TurnOptions = {}, who = 'ann'): NewEvent {
  return userMsg({ turnId, message: { parts: [{ type: 'text', text: `for ${turnId}` }] }, options, who })
}

type ReplyOptions = Partial<Omit<AssistantMsg, 'turnId' | 'messageId' | 'seen'>> & { readonly calls?: string[] }

/** `seen` is the seq that the message's prompt was rendered from. */
export function replied(turnId: string, messageId: string, seen: number, options: ReplyOptions = {}): NewEvent {
  const { calls = [], ...rest } = options
  return assistantMsg({ ...message(turnId, messageId, seen, calls), status: 'complete', ...rest })
}

export function called(callId: string, options: Partial<ToolCallContent> = {}): NewEvent {
  return toolCall({ turnId: 't1', ...draftCall(callId), ...options })
}

export function started(callId: string, attempt = 1): NewEvent {
  return toolStarted({ callId, attempt })
}

/** The call ended well, with the result 'done'. */
export function succeeded(callId: string): NewEvent {
  return toolResult({ callId, ok: true, result: 'done' })
}

export function failed(callId: string, error: string, outcome?: InterruptedEnd): NewEvent {
  return toolResult({ callId, ok: false, error, ...(outcome ? { outcome } : {}) })
}

type Answer = { readonly round?: number; readonly value?: Json } & Partial<Pick<Resolution, 'edited' | 'who'>>

export function suspended(callId: string, kind: Suspension['kind'], options: Partial<Suspension> = {}): NewEvent {
  return suspension({ callId, round: 1, kind, prompt: null, schema: schemas[kind], expiresInMs: null, ...options })
}

export function resolved(
  callId: string,
  kind: Suspension['kind'],
  status: Resolution['status'] = 'resolved',
  { round = 1, value = null, who = 'ann', edited }: Answer = {},
): NewEvent {
  return resolution({ callId, round, kind, status, value, who, ...(edited ? { edited } : {}) })
}

export function moved(callId: string, expiresInMs: number | null, round = 1): NewEvent {
  return deadlineMoved({ callId, round, expiresInMs, who: 'ann' })
}

export function noted(name: string, data: Json = null): NewEvent {
  return note({ name, data, who: 'ann' })
}

export function regenerated(messageId: string, n = 1): NewEvent {
  return regeneration({ messageId, n, feedback: 'say it better' })
}

/** The message that comes next is not to be shown. */
export function marked(messageId: string, hook = 'guard'): NewEvent {
  return withheld({ messageId, hook })
}

/** The tool of the call ends the turn. */
export function halted(callId: string, reason = 'handed over'): NewEvent {
  return haltedBy({ callId, reason })
}

/** What a call sets, or the application without one. */
export function changed(set: JsonObject, { callId, remove = [] }: { callId?: string; remove?: string[] } = {}) {
  const patch = { set, remove }
  return stateSet({ ...(callId ? { callId } : {}), patch, exposed: ['todos'], who: 'ann' })
}

/** The turns from that seq on are withdrawn, and what comes next is there in their place. */
export function replacing(fromSeq: number, by: string): NewEvent {
  return superseded({ fromSeq, by })
}

export function cancelled(turnId: string): NewEvent {
  return cancelRequested({ turnId, who: 'bob' })
}

export function ended(turnId: string, status: TurnStatus = 'completed', reason: string | null = null): NewEvent {
  return turnEnded({ turnId, status, reason })
}

export function draftCall(callId: string, options: Partial<DraftCall> = {}): DraftCall {
  return {
    callId,
    providerCallId: `provider-${callId}`,
    name: 'refund',
    args: { cents: 5 },
    executor: 'server',
    gated: false,
    ifInterrupted: 'report',
    timeoutMs: null,
    expiresInMs: null,
    ...options,
  }
}

/** What the model answered, before it is in the log. */
export function answer(
  messageId: string,
  seen: number,
  { calls = [], ...rest }: Partial<MessageOutcome> = {},
): MessageOutcome {
  const turnId = rest.turnId ?? 't1'
  const callIds = calls.map((call) => call.callId)
  return { ...message(turnId, messageId, seen, callIds), type: 'message', status: 'complete', calls, ...rest }
}

function message(
  turnId: string,
  messageId: string,
  seen: number,
  calls: readonly string[],
): Omit<AssistantMsg, 'status'> {
  const parts: AssistantPart[] = [
    { type: 'text', text: `this is ${messageId}` },
    ...calls.map((callId) => ({ type: 'call' as const, callId })),
  ]
  const finishReason = calls.length > 0 ? 'tool-calls' : 'stop'
  return { turnId, messageId, seen, parts, model: { provider: 'test', modelId: 'one' }, usage: {}, finishReason }
}

/** What each kind asks of its answer when the tool has no schema of its own. */
const anyResult: Json = {
  anyOf: [
    { type: 'object', properties: { ok: { const: true }, result: true }, required: ['ok', 'result'] },
    { type: 'object', properties: { ok: { const: false }, error: { type: 'string' } }, required: ['ok', 'error'] },
  ],
}
const schemas: Record<Suspension['kind'], Json> = {
  approval: { type: 'boolean' },
  elicitation: true,
  client_exec: anyResult,
  sub_agent: anyResult,
  recovery: {
    anyOf: [{ enum: ['rerun', 'report'] }, { type: 'object', properties: { result: true }, required: ['result'] }],
  },
}
