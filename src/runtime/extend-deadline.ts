import { InvalidAnswerError } from '../base/errors/definition-errors.ts'
import { readOptions } from '../base/errors/read-options.ts'
import { InvalidArgumentError } from '../base/errors/store-errors.ts'
import { failpoint } from '../base/failpoint.ts'
import { uuidV7 } from '../base/uuid-v7.ts'
import { type ConversationState, findCall } from '../log/state.ts'
import { checkDuration } from '../store/checks.ts'
import type { TenantStore } from '../store/store.ts'
import { endOfOldCall, lost, type ReadCallRef, type WinningResolution, winnerFrom } from './answer-call.ts'

/** The new deadline. */
export type DeadlineOptions = {
  /** From now, by the store's clock; null: the call waits forever. */
  readonly expiresInMs: number | null
}

/** The deadline that the call has now, or the answer or expiry that came first. */
export type Extended =
  | { readonly accepted: true; readonly expiresAt: number | null }
  | { readonly accepted: false; readonly resolution: WinningResolution }

type Extending = {
  readonly id: string
  readonly who: string
  readonly store: TenantStore
  readonly state: () => Promise<ConversationState>
}

export function readDeadline(options: DeadlineOptions): number | null {
  const { expiresInMs } = readOptions('options', options ?? null, ['expiresInMs'])
  if (expiresInMs === undefined)
    throw new InvalidArgumentError('expiresInMs', 'is missing; pass milliseconds, or null to wait forever')
  if (expiresInMs !== null) checkDuration('expiresInMs', expiresInMs)
  return expiresInMs
}

/** Moves the deadline of one round of one call. Does not wake the conversation. */
export async function extendDeadline(
  { callId, round }: ReadCallRef,
  expiresInMs: number | null,
  { id, who, store, state }: Extending,
): Promise<Extended> {
  const call = findCall(await state(), callId)?.call
  if (!call) return endOfOldCall(id, callId, round, store)
  const asked = call.rounds.find((candidate) => candidate.round === round)
  const what = `deadline of round ${round} of call '${callId}'`
  if (!asked) throw new InvalidAnswerError(what, `it has ${call.rounds.length} rounds`)
  if (asked.resolution) return lost(asked.resolution)
  if (asked.kind === 'sub_agent')
    throw new InvalidAnswerError(what, 'it waits for a child agent, which has no deadline')
  failpoint('deadline.before_commit')
  const content = { callId, round, expiresInMs, who }
  const events = [{ type: 'deadline_moved', content } as const]
  const result = await store.commit(id, { events, resendKey: `deadline/${uuidV7()}` })
  // Durable from here: the log and the row have the new deadline.
  failpoint('deadline.after_commit')
  if (!result.ok) return { accepted: false, resolution: winnerFrom(result.winner, callId) }
  const { at = await timeOf(store, id, result.seq) } = result
  return { accepted: true, expiresAt: expiresInMs === null ? null : at + expiresInMs }
}

/** A commit whose acknowledgement was lost does not say when it was. */
async function timeOf(store: TenantStore, id: string, seq: number): Promise<number> {
  const [event] = await store.streamEvents(id, { after: seq - 1, before: seq + 1 })
  return event?.at ?? 0
}
