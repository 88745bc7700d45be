import { InvalidArgumentError } from '../base/errors/store-errors.ts'
import type { Json } from '../base/json.ts'
import { effectiveArgs } from '../log/call-phase.ts'
import type { LogEvent, NewEvent, Resolution, ResolutionStatus, Suspension, SuspensionKind } from '../log/events.ts'
import type { FsmState } from '../log/fsm-state.ts'
import { type CallState, type ConversationState, findCall } from '../log/state.ts'
import type { ClaimOptions } from './lease.ts'
import type { CallNotice, ConversationAttrs, FinalStatus, ToolCallWrite } from './records.ts'
import type { SlotLimit } from './slots.ts'

/**
 * One transaction on one conversation. Checks run in this order: key, epoch, expectedSeq with expectedAt and expectedAgent, resolve and `deadline_moved`.
 * Events that record what the log's owner did (all but `user_msg`, `resolution`, `deadline_moved`, `cancel_requested`, `superseded`, `titled`, `note`, `seeded`,
 * `flow_started` and `flow_outcome`) need its `epoch` while a lease is live, or while a call is pending that the change does not end. Without one they are refused with `OwnerOnlyError`.
 * A `deadline_moved` also moves the deadline in the call's row, and is refused as `stale` unless the call waits in that round. A change with one has no other,
 * no `calls` and no `resolve`.
 * A change without `epoch` that carries a `user_msg`, `seeded` or `flow_started` creates the conversation if it does not exist.
 */
export type Change = {
  readonly events: readonly NewEvent[]
  /** The last `seq` the change was decided on. */
  readonly expectedSeq?: number
  /** The time of the event at `expectedSeq`. It tells the log from a later one with the same name and length. Refused as `seq`. */
  readonly expectedAt?: number
  /** The agent of the conversation when the change was decided: another process may have changed it without a trace in the log. Refused as `seq`. */
  readonly expectedAgent?: string
  /** The lease the change was decided under. */
  readonly epoch?: number
  /** Makes the change happen once: for a known key, its first `seq` is returned and nothing is written. */
  readonly key?: string
  /** The key of a change that has none. Only the store uses it, to resend a change whose acknowledgement was lost. Stores that never resend ignore it. */
  readonly resendKey?: string
  /** What the key was used for. The same key with another digest is `KeyReusedError`. */
  readonly digest?: string
  /** Call rows to write; each may carry `expiresInMs`, and the store's clock sets the deadline. */
  readonly calls?: readonly ToolCallWrite[]
  /** Pending calls that must still be open, and how their rows end. The caller adds the `resolution` events to `events`. */
  readonly resolve?: readonly ResolveCall[]
  readonly fsmState?: FsmState
  /** Default: now when an event wakes the conversation, otherwise unchanged. */
  readonly wakeAt?: 'now' | { readonly inMs: number } | null
  /** Only with `epoch`, so that no other holder's lease is released. */
  readonly lease?: 'release'
  /**
   * Takes the lease in the same transaction if it is free; the result then has its `epoch`. A change with a known key takes no lease. It returns the epoch of
   * the first time and renews that lease, as long as this holder still has it. So the change can be repeated when its acknowledgement was lost.
   */
  readonly acquire?: { readonly holder: string; readonly ttlMs: number } & ClaimOptions
  /** Upserted like `putConversation`, in the same transaction. A `status` is not compared with the log: it is for callers that have folded it. */
  readonly conversation?: ConversationAttrs
}

/** Ends the round of a pending call; refused as `stale` when the round has ended. */
export type ResolveCall = {
  readonly callId: string
  readonly round: number
  readonly status: FinalStatus
  readonly result: Json
}

/** The result of a commit. Nothing is written unless it is `ok`. A conflict is ordinary: read the new events and settle again. */
export type CommitResult =
  /**
   * `seq`: of the commit's last event, or the log's last where the commit had none. `at`: the time of the commit and its events, by the store's clock, where
   * the store reports it; absent for a known key. `limited`: the limit that kept the commit from taking the lease.
   */
  | {
      readonly ok: true
      readonly seq: number
      readonly at?: number
      readonly epoch?: number
      readonly limited?: SlotLimit
    }
  | {
      readonly ok: false
      readonly conflict: 'seq' | 'epoch' | 'stale'
      readonly lastSeq: number
      /** The resolution that won against a stale one, or against a moved deadline. */
      readonly winner?: LogEvent
    }

type Written = Pick<Extract<CommitResult, { ok: true }>, 'at' | 'epoch' | 'limited'>

/** What a driver reports of a commit beside its `seq`. */
export function written({ at, epoch, limited }: Written): Written {
  return {
    ...(at === undefined ? {} : { at }),
    ...(epoch === undefined ? {} : { epoch }),
    ...(limited === undefined ? {} : { limited }),
  }
}

const own = Symbol('own')
/** Callers can forge neither the symbol nor this object, so a proxy that answers every read does not pass as a change of the engine. */
const proof = {}

type Marked = Change & { [own]?: typeof proof }

/** Marks a change that the engine built itself. Its members are plain values, so the store uses it as it is instead of copying it first. */
export function markOwnerChange(change: Change): Change {
  const marked: Marked = change
  marked[own] = proof
  return marked
}

export function isOwnerChange(change: Change): boolean {
  return (change as Marked | null | undefined)?.[own] === proof
}

/** Committed events with their `seq` and `at`; null when those must be read from the store. */
export function placedEvents(
  conversationId: string,
  events: readonly NewEvent[],
  after: number,
  { seq, at }: Extract<CommitResult, { ok: true }>,
): LogEvent[] | null {
  if (events.length === 0) return []
  if (at === undefined || seq !== after + events.length) return null
  return events.map((event, index) => ({ ...event, conversationId, seq: after + 1 + index, at }))
}

/** The round of a call that ends, how it ends, and who ended it. */
type CallEnding = {
  readonly callId: string
  readonly round: number
  readonly kind: SuspensionKind
  readonly status: FinalStatus
  readonly value: Json
  readonly who: string
}

/**
 * The events for ending a pending call by its id. The log has no `errored` status, so an approval is denied, and every other kind gets an error result: never
 * an answer, never a run. A fork may copy only part of these events, and the row may be wrong about what the call waits for; even then the call does not read
 * as granted.
 */
export function eventsOfEnd({ callId, round, kind, status, value, who }: CallEnding): NewEvent[] {
  const resolution = (logged: ResolutionStatus, reason: Json): NewEvent => ({
    type: 'resolution',
    content: { callId, round, kind, status: logged, value: reason, who },
  })
  if (status !== 'errored') return [resolution(status, value)]
  const denied = resolution('denied', loggedError(kind, value))
  if (kind === 'approval') return [denied]
  // Only started calls are recovered, so the call may have taken effect.
  const unknown = kind === 'recovery' ? { outcome: 'unknown' as const } : {}
  const result = { callId, ok: false as const, error: errorIn(value), ...unknown }
  // The result ends the call; the resolution after it says who closed the round.
  return [{ type: 'tool_result', content: result }, denied]
}

/** The value of the resolution for a row that ended as `errored` with this result. A denial is read as text, or by its `reason`. */
export function loggedError(kind: SuspensionKind, value: Json): Json {
  if (kind !== 'approval' || value === null || typeof value === 'string') return value
  return isText(fieldOf(value, 'reason')) ? value : { reason: errorIn(value) }
}

/** Whether the answer reports success or failure: a page and a child agent do. For other kinds `ok` is a plain field. */
export function reportsOutcome(kind: SuspensionKind): boolean {
  return kind === 'client_exec' || kind === 'sub_agent'
}

function errorIn(value: Json): string {
  if (value === null || value === '') return 'it failed and did not say why'
  const reasonText = [value, fieldOf(value, 'error'), fieldOf(value, 'reason'), fieldOf(value, 'message')].find(isText)
  return reasonText ?? JSON.stringify(value)
}

function isText(value: Json | undefined): value is string {
  return typeof value === 'string' && value !== ''
}

function fieldOf(value: Json, name: string): Json | undefined {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject && Object.hasOwn(value, name) ? (value as { readonly [key: string]: Json })[name] : undefined
}

/** The rows that go with events: a call row for each suspension, a guard for each resolution, the title. `after` is the state including the events. */
export function changeFor(
  events: readonly NewEvent[],
  after: ConversationState,
): Pick<Change, 'events' | 'calls' | 'resolve' | 'conversation'> {
  const calls: ToolCallWrite[] = []
  const resolve: ResolveCall[] = []
  let conversation: Change['conversation']
  for (const event of events) {
    if (event.type === 'suspension') calls.push(callRow(event.content, after))
    if (event.type === 'resolution') resolve.push(resolveRow(event.content))
    if (event.type === 'titled') conversation = { title: event.content.title }
  }
  return {
    events,
    ...(calls.length > 0 ? { calls } : {}),
    ...(resolve.length > 0 ? { resolve } : {}),
    ...(conversation ? { conversation } : {}),
  }
}

export function resolveRow(resolution: Resolution): ResolveCall {
  const { callId, round, value } = resolution
  return { callId, round, status: rowStatus(resolution), result: value }
}

export function rowStatus({ kind, status, value }: Resolution): FinalStatus {
  const isError = typeof value === 'object' && value !== null && 'ok' in value && value.ok === false
  return status === 'resolved' && reportsOutcome(kind) && isError ? 'errored' : status
}

function callRow(suspended: Suspension, after: ConversationState): ToolCallWrite {
  const { callId, round, kind, prompt, expiresInMs } = suspended
  const found = findCall(after, callId)
  if (!found) throw new Error(`suspension of '${callId}' without its call`)
  const { name, executor } = found.call
  const notice = noticeOf(found.call, suspended)
  return { id: callId, name, executor, args: effectiveArgs(found.call), round, kind, prompt, expiresInMs, notice }
}

/** What the row of a call that waits in this round tells beside its prompt. */
export function noticeOf(
  { description }: Pick<CallState, 'description'>,
  { doneBefore }: Pick<Suspension, 'doneBefore'>,
): CallNotice | null {
  if (description === undefined && !doneBefore) return null
  return { ...(description === undefined ? {} : { description }), ...(doneBefore ? { doneBefore } : {}) }
}

/**
 * The place that the `superseded` events of a change withdraw turns from; null where there is none. Such an event is refused unless the change was decided on a
 * known log and the message that takes the place follows right after it.
 */
export function withdrawalIn({ events, expectedSeq }: Change): number | null {
  let from: number | null = null
  for (const [index, { type, content }] of events.entries()) {
    if (type !== 'superseded') continue
    if (expectedSeq === undefined)
      throw new InvalidArgumentError('expectedSeq', "is missing; a 'superseded' depends on the log it was decided on")
    if (content.fromSeq > expectedSeq + index)
      throw new InvalidArgumentError('fromSeq', `is ${content.fromSeq}, and the log does not reach it`)
    if (!isFirstMessage(events[index + 1], content.by)) {
      const problem = `have a 'superseded' by turn '${content.by}' without a message of that turn right after it`
      throw new InvalidArgumentError('events', problem)
    }
    from = Math.min(from ?? content.fromSeq, content.fromSeq)
  }
  return from
}

function isFirstMessage(event: NewEvent | undefined, turnId: string): boolean {
  return event?.type === 'user_msg' && event.content.turnId === turnId
}
