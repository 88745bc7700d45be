import { InvalidAnswerError } from '../base/errors/definition-errors.ts'
import { readMembers } from '../base/errors/read-given.ts'
import type { SuspensionKind } from '../log/events.ts'
import { type ConversationState, findCall } from '../log/state.ts'
import type { Answered, AnswerOptions } from './answer-call.ts'
import type { Conversation } from './conversation.ts'
import type { ReadCallRef } from './read-call-ref.ts'

/** True and false answer an approval; for everything else the value is the answer. */
export async function resolveAny(
  handle: Conversation,
  kind: SuspensionKind | undefined,
  { callId, round }: ReadCallRef,
  value: unknown,
  answering: AnswerOptions,
): Promise<Answered> {
  const ref = { callId, round }
  if (kind !== 'approval') return handle.answer(ref, value, answering)
  const { approved, args, reason } = readDecision(value)
  if (approved) return handle.approve(ref, { ...answering, ...(args === undefined ? {} : { args }) })
  return handle.deny(ref, { ...answering, ...(reason === undefined ? {} : { reason }) })
}

/** What a round of a call waits for, as far as the state goes. */
export function kindOf(state: ConversationState, { callId, round }: ReadCallRef): SuspensionKind | undefined {
  return findCall(state, callId)?.call.rounds.find((candidate) => candidate.round === round)?.kind
}

type Decision = { readonly approved: boolean; readonly args?: unknown; readonly reason?: string }

function readDecision(value: unknown): Decision {
  const given = typeof value === 'object' && value !== null ? value : { approved: value }
  const { approved, args, reason } = readMembers('decision', given as Decision, ['approved', 'args', 'reason'])
  // What is neither yes nor no decides nothing: a decision cannot be taken back.
  if (typeof approved !== 'boolean')
    throw new InvalidAnswerError('decision', 'it must be true, false or { approved, args?, reason? }')
  return { approved, ...(args === undefined ? {} : { args }), ...(typeof reason === 'string' ? { reason } : {}) }
}
