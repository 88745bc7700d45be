import { createHash } from 'node:crypto'
import { ArgumentsChangedError, InvalidAnswerError } from '../base/errors/definition-errors.ts'
import { readOptions } from '../base/errors/read-options.ts'
import { CallNotFoundError, InvalidArgumentError } from '../base/errors/store-errors.ts'
import { failpoint } from '../base/failpoint.ts'
import type { Json } from '../base/json.ts'
import type { Redact } from '../base/redact/redactor.ts'
import { uuidV7 } from '../base/uuid-v7.ts'
import { parentCallOf } from '../engine/child/child-calls.ts'
import type { GrantedLease, LeaseRequest } from '../engine/lease-request.ts'
import { leftOutOf } from '../log/abridge.ts'
import { callPhase, effectiveArgs } from '../log/call-phase.ts'
import { argsDigest, encode } from '../log/codec.ts'
import type { LogEvent, Resolution, ResolutionStatus, SuspensionKind } from '../log/events.ts'
import { foldCall, isCallEvent, newCall } from '../log/fold-call.ts'
import { type CallState, type ConversationState, findCall, type Round } from '../log/state.ts'
import { type Change, type CommitResult, resolveRow } from '../store/change.ts'
import { checkId, checkWhole } from '../store/checks.ts'
import type { TenantStore } from '../store/store.ts'
import type { WorkingSets } from '../store/working-sets.ts'

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
  /** The same key is the same answer: a retry gets `accepted` again. Without one, a retry gets `accepted: false` with the answer that counts, even if that was its own. */
  readonly key?: string
  /**
   * The `digest` of the item that was shown, or `argsDigest` of its arguments: the answer counts only where the call still has these. Otherwise it is refused with
   * `ArgumentsChangedError`. Default: not compared.
   */
  readonly digest?: string
}

/** What a caller wants to say to a pending call. */
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
  readonly leaseRequest: LeaseRequest
  readonly request: AnswerKey
  /** See `AnswerOptions`. */
  readonly digest: string | undefined
}

/** What became of an answer, and the lease that came with its commit; null where none did. */
type AnswerResult = { readonly answered: Answered; readonly lease: GrantedLease | null }

/** Resolves one round of one call. Of several answers, one is accepted. `answerFor` checks the answer and must throw when it does not fit. */
export async function answerCall(
  { callId, round: n }: ReadCallRef,
  answerFor: (call: CallState, round: Round) => Promise<Answer>,
  { id, who, store, state, leaseRequest, request, digest }: Answering,
): Promise<AnswerResult> {
  const folded = await state()
  const found = findCall(folded, callId)
  const isRepeat = () => wasAccepted(store, id, folded.lastSeq, request)
  if (!found) {
    const answered = await endOfOldCall(id, callId, n, store)
    return { answered: (await isRepeat()) ? { accepted: true } : answered, lease: null }
  }
  const call = await wholeCall(store, id, found.call)
  const round = roundOf(call, { round: n })
  if (!round)
    throw new InvalidAnswerError(`answer to round ${n} of call '${callId}'`, `it has ${call.rounds.length} rounds`)
  if (round.resolution)
    return { answered: (await isRepeat()) ? { accepted: true } : lost(round.resolution), lease: null }
  expectArgs(callId, effectiveArgs(call), digest)
  const answer = await answerFor(call, round)
  const content: Resolution = { callId, round: n, kind: round.kind, who, ...answer }
  const commit = async (guard: Pick<Change, 'resolve' | 'expectedSeq'>): Promise<CommitResult> => {
    failpoint('resolve.before_commit')
    const result = await store.commit(id, {
      events: [{ type: 'resolution', content }],
      ...request,
      ...guard,
      ...leaseRequest.acquire(),
    })
    // Durable from here: the call is answered, and a node that has the agent's code continues the turn.
    failpoint('resolve.after_commit')
    return result
  }
  let result = await commit({ resolve: [resolveRow(content)] })
  // Refused without a winner: the row is not what the log says, and the log decides.
  while (!result.ok && !result.winner) {
    const now = await state()
    const call = findCall(now, callId)?.call
    const resolution = call?.rounds.find((candidate) => candidate.round === n)?.resolution
    if (resolution) return { answered: lost(resolution), lease: null }
    if (!call || callPhase(call).type !== 'pending') throw new CallNotFoundError(callId)
    result = await commit({ expectedSeq: now.lastSeq })
  }
  if (result.ok) return { answered: { accepted: true }, lease: leaseRequest.granted(result) }
  return { answered: { accepted: false, resolution: winnerFrom(result.winner, callId) }, lease: null }
}

/** An old call of this conversation whose turn has been summarised away: only its end is known. Calls of other conversations are not found. */
export async function endOfOldCall(
  id: string,
  callId: string,
  round: number,
  store: TenantStore,
): Promise<Extract<Answered, { accepted: false }>> {
  const row = await store.getToolCall(callId)
  if (row?.conversationId !== id || row.status === 'pending') throw new CallNotFoundError(callId)
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

/** An answer to arguments that were shown must not reach others. */
export function expectArgs(callId: string, args: Json, digest: string | undefined): void {
  if (digest !== undefined && digest !== argsDigest(args)) throw new ArgumentsChangedError(callId)
}

export function checkDigest(digest: unknown): void {
  if (digest !== undefined && typeof digest !== 'string') throw new InvalidArgumentError('digest', 'must be a string')
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

export function winnerFrom(winner: LogEvent | undefined, callId: string): WinningResolution {
  if (winner?.type !== 'resolution') throw new CallNotFoundError(callId)
  return winnerOf({ ...winner.content, at: winner.at })
}

export function lost(resolution: WinningResolution): Extract<Answered, { accepted: false }> {
  return { accepted: false, resolution: winnerOf(resolution) }
}

function winnerOf({ status, value, who, edited, at }: WinningResolution): WinningResolution {
  return { status, value, who, at, ...(edited ? { edited } : {}) }
}

/** Which call, and which round of it. */
export type ReadCallRef = {
  readonly callId: string
  readonly round: number
  /** What a pending item says of itself. It saves a read; nothing else rests on it. */
  readonly conversationId: unknown
}

/** What a caller names a call by, checked and read once. */
export function readCallRef(call: CallRef): ReadCallRef {
  const named: { callId?: string; round?: number; conversationId?: unknown } =
    typeof call === 'string' ? { callId: call } : readOptions<GivenRef, keyof GivenRef>('call', call, refNames)
  const { callId, round = 1, conversationId = null } = named
  checkId('call id', callId)
  checkWhole('round', round, 1)
  return { callId, round, conversationId }
}

type GivenRef = { readonly callId: string; readonly round?: number; readonly conversationId?: unknown }

const refNames = ['callId', 'round', 'conversationId'] as const

/** The child agent of a conversation, or of one of its children, that a call is in; null for a call of its own, or of no conversation below it. */
export async function childOfCall(store: TenantStore, id: string, call: ReadCallRef): Promise<string | null> {
  const { callId, conversationId } = call
  if (conversationId === id) return null
  const row = await store.getToolCall(callId)
  if (!row || row.conversationId === id) return null
  for (let parent = await parentCallOf(store, row.conversationId); parent; ) {
    if (parent.conversationId === id) return row.conversationId
    parent = await parentCallOf(store, parent.conversationId)
  }
  return null
}

/** Makes a request happen once. One without a key gets its own, so that a lost acknowledgement can be settled. */
export function requestKey(verb: string, key: string | undefined, digest: string): Pick<Change, 'key' | 'digest'> {
  return { key: key ?? `${verb}/${uuidV7()}`, digest }
}

/** The key of an answer. Without one from the caller only the store sends the answer again, and there is no digest. */
export type AnswerKey = { readonly key: string; readonly digest?: string }

/** `verb` and `given` are what the caller said, as it was said: the same key with anything else is refused. */
export function answerKey(
  key: string | undefined,
  { callId, round }: { readonly callId: string; readonly round: number },
  verb: 'approve' | 'deny' | 'answer',
  given: unknown,
): AnswerKey {
  if (key === undefined) return { key: `answer/${uuidV7()}` }
  checkId('key', key)
  return {
    key: `answer/${key}`,
    digest: digestOf(verb, callId, round, ...(given === undefined ? [] : [given as Json])),
  }
}

export function digestOf(...values: readonly Json[]): string {
  return createHash('sha256').update(encode(values)).digest('hex')
}

/** Where a call is looked for: in a conversation, and in its child agents. */
export type CallPlace = {
  readonly id: string
  readonly tenant: string
  readonly store: TenantStore
  readonly workingSets: WorkingSets
}

/** A call as the log says, whatever its row does. Null where it is not there, or its turn has been summarised away: then nothing can run. */
export async function callInLog(
  { id, tenant, store, workingSets }: CallPlace,
  ref: ReadCallRef,
): Promise<CallState | null> {
  const within = (await childOfCall(store, id, ref)) ?? id
  const found = findCall((await workingSets.load(store, tenant, within)).state, ref.callId)
  return found ? wholeCall(store, within, found.call) : null
}

export function roundOf({ rounds }: CallState, { round }: Pick<ReadCallRef, 'round'>): Round | undefined {
  return rounds.find((candidate) => candidate.round === round)
}

/** A call with all that was left out of it, read from its own events: no decision rests on half of its arguments. */
export async function wholeCall(store: TenantStore, id: string, call: CallState): Promise<CallState> {
  if (leftOutOf(call) === 0) return call
  const opened = await eventAt(store, id, call.seq)
  if (opened?.type !== 'tool_call') return call
  let whole = newCall(opened)
  for (const seq of laterSeqs(call)) {
    const event = await eventAt(store, id, seq)
    if (event && isCallEvent(event)) whole = foldCall(whole, event)
  }
  return whole
}

/** The seqs of the events that changed it since, in the order of the log. */
function laterSeqs({ startedSeq, rounds, result }: CallState): number[] {
  const asked = rounds.flatMap(({ seq, resolution }) => [seq, resolution?.seq ?? 0])
  return [startedSeq, ...asked, result?.seq ?? 0].filter((seq) => seq > 0).sort((one, other) => one - other)
}

export async function eventAt(store: TenantStore, id: string, seq: number): Promise<LogEvent | undefined> {
  const [event] = await store.streamEvents(id, { after: seq - 1, before: seq + 1 })
  return event
}
