import type { ErrorCode } from '../../base/errors/codes.ts'
import { PerdureError } from '../../base/errors/perdure-error.ts'
import type { Json } from '../../base/json.ts'
import { effectiveArgs } from '../../log/call-phase.ts'
import { isQuestion, seqOfFlowCall } from '../../log/flow-questions.ts'
import type { CallState, Round } from '../../log/state.ts'
import { flowCall } from '../../store/flow-call.ts'
import {
  type CallPlace,
  type CallRef,
  callInLog,
  childOfCall,
  eventAt,
  type ReadCallRef,
  readCallRef,
  roundOf,
} from '../answer-call.ts'
import type { AuthorizedCall } from './authorize.ts'

/** A call that a verb is about, as the caller names it. */
export type AboutCall = {
  readonly call: CallRef
  /** The arguments that an approval puts in the place of those that were asked for. */
  readonly args?: unknown
}

/**
 * What `authorize` learns about a call. It comes from the log, because rows are caches, and a wrong row must not decide. Null if the conversation has no such
 * call.
 */
export async function askedCall(place: CallPlace, about: AboutCall): Promise<AuthorizedCall | null> {
  const ref = readRef(about.call)
  if (!ref) return null
  const seq = seqOfFlowCall(place.id, ref.callId)
  if (seq !== null) return questionAt(place, ref.callId, seq)
  const call = await callInLog(place, ref).catch(unreadable)
  const round = call && (roundOf(call, ref) ?? call.rounds.at(-1))
  return round ? asAsked(call, round, about.args as Json | undefined) : endedCall(place, ref)
}

/**
 * If the log cannot be read, the verb reports it, provided the caller may know. A failing store may be able to read it a moment later, so nothing is decided
 * without the log.
 */
function unreadable(error: unknown): null {
  if (PerdureError.isInstance(error) && unreadableLog.has(error.code)) return null
  throw error
}

/** The log of a session has no calls. */
const unreadableLog: ReadonlySet<ErrorCode> = new Set([
  ...(['conversation_unreadable', 'event_invalid', 'event_unknown'] as const),
  'not_a_conversation' as const,
])

/** A call that the folded state no longer has is described by its row, which only says how it ended. */
async function endedCall({ id, store }: CallPlace, ref: ReadCallRef): Promise<AuthorizedCall | null> {
  const row = await store.getToolCall(ref.callId)
  const within = (await childOfCall(store, id, { ...ref, conversationId: null })) ?? id
  return row?.conversationId === within ? { callId: row.id, tool: row.name, kind: row.kind, args: row.args } : null
}

/** `args`: what is put in the place of the arguments, if anything is. */
export function asAsked(call: CallState, { kind }: Pick<Round, 'kind'>, args?: Json): AuthorizedCall {
  const before = effectiveArgs(call)
  const { callId, name: tool } = call
  if (args !== undefined) return { callId, tool, kind, args, edited: { before } }
  return { callId, tool, kind, args: before }
}

async function questionAt({ id, store }: CallPlace, callId: string, seq: number): Promise<AuthorizedCall | null> {
  const event = await eventAt(store, id, seq)
  if (event?.type !== 'flow_opened' || !isQuestion(event.content.op)) return null
  const { name: tool, args = null } = flowCall(id, { seq, op: event.content.op })
  return { callId, tool: tool ?? '', kind: 'flow', args }
}

/** A name that is none is refused by the verb itself. */
function readRef(call: CallRef): ReadCallRef | null {
  try {
    return readCallRef(call)
  } catch (error) {
    if (PerdureError.isInstance(error)) return null
    throw error
  }
}
