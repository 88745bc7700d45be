import { InvalidAnswerError } from '../base/errors/definition-errors.ts'
import { readOptions } from '../base/errors/read-options.ts'
import type { CallKind } from '../store/records.ts'
import type { Answered, AnswerOptions, ReadCallRef } from './answer-call.ts'
import type { Conversation } from './conversation.ts'

/** True and false answer an approval; for everything else the value is the answer. Each verb refuses a call that waits for another kind of answer. */
export async function resolveAny(
  handle: Conversation,
  kind: CallKind | null,
  ref: Pick<ReadCallRef, 'callId' | 'round'>,
  value: unknown,
  answering: AnswerOptions,
): Promise<Answered> {
  if (kind !== 'approval') return handle.answer(ref, value, answering)
  const { approved, args, reason } = readDecision(value)
  if (approved) return handle.approve(ref, { ...answering, ...(args === undefined ? {} : { args }) })
  return handle.deny(ref, { ...answering, ...(reason === undefined ? {} : { reason }) })
}

type Decision = { readonly approved: boolean; readonly args?: unknown; readonly reason?: string }

/** Reads the decision once, so that the checked value is the one used. Throws unless it is yes or no: a decision cannot be taken back. */
export function readDecision(value: unknown): Decision {
  const given = typeof value === 'object' && value !== null ? value : { approved: value }
  const { approved, args, reason } = readOptions('decision', given as Decision, ['approved', 'args', 'reason'])
  if (typeof approved !== 'boolean')
    throw new InvalidAnswerError('decision', 'it must be true, false or { approved, args?, reason? }')
  return { approved, ...(args === undefined ? {} : { args }), ...(typeof reason === 'string' ? { reason } : {}) }
}
