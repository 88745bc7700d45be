import { readMembers } from '../base/errors/read-given.ts'
import { checkId, checkWhole } from '../store/checks.ts'
import type { CallRef } from './answer-call.ts'

/** Which call, and which round of it. */
export type ReadCallRef = {
  readonly callId: string
  readonly round: number
  /** What a pending item says of itself. It is not believed for more than saving a look. */
  readonly conversationId: unknown
}

/** What a caller names a call by, checked and read once. */
export function readCallRef(call: CallRef): ReadCallRef {
  const named: { callId?: string; round?: number; conversationId?: unknown } =
    typeof call === 'string' ? { callId: call } : readMembers<GivenRef, keyof GivenRef>('call', call, refNames)
  const { callId, round = 1, conversationId = null } = named
  checkId('call id', callId)
  checkWhole('round', round, 1)
  return { callId, round, conversationId }
}

type GivenRef = { readonly callId: string; readonly round?: number; readonly conversationId?: unknown }

const refNames = ['callId', 'round', 'conversationId'] as const
