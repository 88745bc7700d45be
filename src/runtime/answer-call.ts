import { InvalidAnswerError } from '../base/errors/definition-errors.ts'
import { CallNotFoundError } from '../base/errors/store-errors.ts'
import { failpoint } from '../base/failpoint.ts'
import type { Json } from '../base/json.ts'
import type { Redact } from '../base/redact/redactor.ts'
import { resolveRow } from '../engine/child/change-for.ts'
import type { LeaseWish } from '../engine/lease-request.ts'
import { callPhase } from '../log/call-phase.ts'
import type { LogEvent, Resolution, ResolutionStatus, SuspensionKind } from '../log/events.ts'
import { type CallState, type ConversationState, findCall, type Round } from '../log/state.ts'
import type { Change, CommitResult } from '../store/change.ts'
import type { TenantStore } from '../store/store.ts'
import { wholeCall } from './read/whole-call.ts'
import type { ReadCallRef } from './read-call-ref.ts'
import type { AnswerKey } from './request-key.ts'

/** A pending item, or the ids of one; a bare `callId` means its first round. */
export type CallRef = string | { readonly callId: string; readonly round?: number }

/** Who answered first, when, and with what. */
export type Answered =
  | { readonly accepted: true }
  | { readonly accepted: false; readonly resolution: WinningResolution }

/** The answer that counts: who gave it, when, and what it was. */
export type WinningResolution = Omit<Resolution, 'callId' | 'round' | 'kind'> & { readonly at: number }

/** How an answer is given. */
export type AnswerOptions = {
  /** The same key is the same answer: a retry hears `accepted` again. Without one, a retry hears of the answer it gave itself as of any that came first. */
  readonly key?: string
}

/** What somebody wants to say to a pending call. */
export type Answer = {
  readonly status: Extract<ResolutionStatus, 'resolved' | 'denied'>
  readonly value: Json
  readonly edited?: NonNullable<Resolution['edited']>
}

export type Answering = {
  readonly id: string
  readonly who: string
  readonly store: TenantStore
  readonly state: () => Promise<ConversationState>
  /** Called before the commit: what was answered may run at once. */
  readonly onAnswer: (callId: string, round: number) => void
  readonly lease: LeaseWish
  readonly request: AnswerKey
}

/** Resolves one round of one call; of all who try, one is accepted. `answerFor` checks the answer and must throw when it does not fit. */
export async function answerCall(
  { callId, round: n }: ReadCallRef,
  answerFor: (call: CallState, round: Round) => Promise<Answer>,
  { id, who, store, state, onAnswer, lease, request }: Answering,
): Promise<Answered> {
  const folded = await state()
  const found = findCall(folded, callId)
  const isRepeat = () => wasAccepted(store, id, folded.lastSeq, request)
  if (!found) return await notInWorkingSet(id, callId, n, store, isRepeat)
  const call = await wholeCall(store, id, found.call)
  const round = call.rounds.find((candidate) => candidate.round === n)
  if (!round)
    throw new InvalidAnswerError(`answer to round ${n} of call '${callId}'`, `it has ${call.rounds.length} rounds`)
  if (round.resolution) return (await isRepeat()) ? { accepted: true } : lost(round.resolution)
  const answer = await answerFor(call, round)
  const content: Resolution = { callId, round: n, kind: round.kind, who, ...answer }
  onAnswer(callId, n)
  const commit = async (guard: Pick<Change, 'resolve' | 'expectedSeq'>): Promise<CommitResult> => {
    failpoint('resolve.before_commit')
    const result = await store.commit(id, {
      events: [{ type: 'resolution', content }],
      ...request,
      ...guard,
      ...lease.acquire(),
    })
    if (result.ok) lease.got(result)
    // Durable from here: the call is answered, and whoever has the agent's code goes on.
    failpoint('resolve.after_commit')
    return result
  }
  let result = await commit({ resolve: [resolveRow(content)] })
  // Refused, and nobody has won: the row is not what the log says, and the log decides.
  while (!result.ok && !result.winner) {
    const now = await state()
    const call = findCall(now, callId)?.call
    const resolution = call?.rounds.find((candidate) => candidate.round === n)?.resolution
    if (resolution) return lost(resolution)
    if (!call || callPhase(call).type !== 'pending') throw new CallNotFoundError(callId)
    result = await commit({ expectedSeq: now.lastSeq })
  }
  return result.ok ? { accepted: true } : { accepted: false, resolution: winnerFrom(result.winner, callId) }
}

/** An old call of this conversation whose turn has been summarised away: only its end can be told. Calls of others are not found. */
async function notInWorkingSet(
  id: string,
  callId: string,
  round: number,
  store: TenantStore,
  isRepeat: () => Promise<boolean>,
): Promise<Answered> {
  const row = await store.getToolCall(callId)
  if (row?.conversationId !== id || row.status === 'pending') throw new CallNotFoundError(callId)
  if (await isRepeat()) return { accepted: true }
  const result = await store.commit(id, {
    events: [],
    resolve: [{ callId, round, status: 'resolved', result: null }],
  })
  if (result.ok) throw new CallNotFoundError(callId)
  return { accepted: false, resolution: winnerFrom(result.winner, callId) }
}

/** Whether this very answer has been accepted. Writes nothing: keys come first, and a log that has a call is not at seq 0. */
async function wasAccepted(store: TenantStore, id: string, lastSeq: number, request: AnswerKey): Promise<boolean> {
  if (request.digest === undefined || lastSeq === 0) return false
  return (await store.commit(id, { events: [], ...request, expectedSeq: 0 })).ok
}

/** Which verb fits which kind: an approval is not answered, a question is not approved. */
export function expectKind(call: CallState, round: Round, kinds: readonly SuspensionKind[]): void {
  if (kinds.includes(round.kind)) return
  throw new InvalidAnswerError(
    `answer to call '${call.callId}'`,
    `it waits for '${round.kind}', not for ${kinds.join(' or ')}`,
  )
}

/** What a page says of a tool that failed there is recorded as any error of a tool: without secrets. */
export function redactFailure(kind: SuspensionKind, value: Json, redact: Redact): Json {
  if (kind !== 'client_exec' || typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const { ok, error } = value as { readonly [name: string]: Json }
  return ok === false && typeof error === 'string' ? { ...value, error: redact(error) } : value
}

function winnerFrom(winner: LogEvent | undefined, callId: string): WinningResolution {
  if (winner?.type !== 'resolution') throw new CallNotFoundError(callId)
  return winnerOf({ ...winner.content, at: winner.at })
}

function lost(resolution: WinningResolution): Answered {
  return { accepted: false, resolution: winnerOf(resolution) }
}

function winnerOf({ status, value, who, edited, at }: WinningResolution): WinningResolution {
  return { status, value, who, at, ...(edited ? { edited } : {}) }
}
