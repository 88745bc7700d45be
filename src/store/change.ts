import type { Json } from '../base/json.ts'
import { effectiveArgs } from '../log/call-phase.ts'
import type { LogEvent, NewEvent, Resolution, ResolutionStatus, Suspension, SuspensionKind } from '../log/events.ts'
import type { FsmState } from '../log/fsm-state.ts'
import { type ConversationState, findCall } from '../log/state.ts'
import type { ClaimOptions } from './lease.ts'
import type { ConversationAttrs, FinalStatus, ToolCallWrite } from './records.ts'

/**
 * One transaction on one conversation. Checks run in this order: key, epoch, expectedSeq with expectedAt and expectedAgent, resolve.
 * Events that say what the owner of the log did (all but `user_msg`, `resolution`, `cancel_requested`, `titled`, `seeded`, `flow_started` and
 * `flow_outcome`) need its `epoch` while a lease is live, or a call is pending that the change does not end: without one they are refused with `OwnerOnlyError`.
 * A change without `epoch` that carries a `user_msg`, `seeded` or `flow_started` creates the conversation where there is none.
 */
export type Change = {
  readonly events: readonly NewEvent[]
  /** The last seq the change was decided on. */
  readonly expectedSeq?: number
  /** The time of the event at `expectedSeq`: tells the log from a later one of the same name that is as long. Refused as `seq`. */
  readonly expectedAt?: number
  /** The agent it was decided on that the conversation has: somebody may have given it to another without a trace in its log. Refused as `seq`. */
  readonly expectedAgent?: string
  /** The lease the change was decided under. */
  readonly epoch?: number
  /** Makes the change happen once: a known key returns its first seq, and nothing is written. */
  readonly key?: string
  /**
   * Its key where it has none: nobody asks for it but the store itself, which may send a change again whose acknowledgement was lost. A store
   * that never does leaves it out.
   */
  readonly resendKey?: string
  /** What the key stands for. The same key with another digest is `KeyReusedError`. */
  readonly digest?: string
  /** Call rows to write; each may carry `expiresInMs`, and the store's clock sets the deadline. */
  readonly calls?: readonly ToolCallWrite[]
  /** Guards, and the rows they end. The caller puts the `resolution` events in `events`. */
  readonly resolve?: readonly ResolveCall[]
  readonly fsmState?: FsmState
  /** Default: now when an event wakes, otherwise as it was. */
  readonly wakeAt?: 'now' | { readonly inMs: number } | null
  /** Only with `epoch`: nobody else's lease is given back. */
  readonly lease?: 'release'
  /**
   * Takes the lease in the same transaction, when nobody has it; the result then has its `epoch`. A change that is known by its key takes none; it has the
   * epoch of the first time, and the lease is renewed, as long as that lease is still this holder's. So it can be repeated when its answer was lost.
   */
  readonly acquire?: { readonly holder: string; readonly ttlMs: number } & ClaimOptions
  /** Upserted like `putConversation`, in the same transaction. */
  readonly conversation?: ConversationAttrs
}

/** Ends the round of a pending call; refused as `stale` when it has ended. */
export type ResolveCall = {
  readonly callId: string
  readonly round: number
  readonly status: FinalStatus
  readonly result: Json
}

/** How a commit went. Nothing was written unless it is `ok`; a conflict is ordinary: read what was missed and settle again. */
export type CommitResult =
  /**
   * `seq`: of the commit's last event; the log's last where it had none. `at`: the time of the commit and of its events, by the
   * store's clock, where the store tells; not for a change that was known by its key.
   */
  | { readonly ok: true; readonly seq: number; readonly at?: number; readonly epoch?: number }
  | {
      readonly ok: false
      readonly conflict: 'seq' | 'epoch' | 'stale'
      readonly lastSeq: number
      /** The resolution that a stale one lost to. */
      readonly winner?: LogEvent
    }

const own = Symbol('own')
/** Callers can forge neither the symbol nor this object, so a proxy that answers every read is not taken for our own. */
const proof = {}

type Marked = Change & { [own]?: typeof proof }

/** Marks a change that the engine has built itself: its members are plain values, so the store takes it as it is instead of copying it first. */
export function markOwnerChange(change: Change): Change {
  const marked: Marked = change
  marked[own] = proof
  return marked
}

export function isOwnerChange(change: Change): boolean {
  return (change as Marked | null | undefined)?.[own] === proof
}

/** Committed events with the place and time the store gave them; null when that has to be read. */
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

/** The round of a call that is ended, how, and by whom. */
type CallEnding = {
  readonly callId: string
  readonly round: number
  readonly kind: SuspensionKind
  readonly status: FinalStatus
  readonly value: Json
  readonly who: string
}

/**
 * What the log says when a pending call is ended by its id. The log has no word for `errored`, so an approval is denied, and everything else ends with an
 * error result: never with an answer, and never with a run. Whatever part of these events a fork copies, and whatever the call waits for in truth where
 * its row is wrong, the call does not read as granted.
 */
export function eventsOfEnd({ callId, round, kind, status, value, who }: CallEnding): NewEvent[] {
  const resolution = (logged: ResolutionStatus, told: Json): NewEvent => ({
    type: 'resolution',
    content: { callId, round, kind, status: logged, value: told, who },
  })
  if (status !== 'errored') return [resolution(status, value)]
  const denied = resolution('denied', loggedError(kind, value))
  if (kind === 'approval') return [denied]
  // Only a call that was started is recovered, and it may have taken effect.
  const unknown = kind === 'recovery' ? { outcome: 'unknown' as const } : {}
  const result = { callId, ok: false as const, error: errorIn(value), ...unknown }
  // The result ends the call; the resolution after it says who closed the round.
  return [{ type: 'tool_result', content: result }, denied]
}

/** The value of the resolution for a row that was ended as `errored` with this result: a denial is read as a text, or by its `reason`. */
export function loggedError(kind: SuspensionKind, value: Json): Json {
  if (kind !== 'approval' || value === null || typeof value === 'string') return value
  return isText(fieldOf(value, 'reason')) ? value : { reason: errorIn(value) }
}

/** The page and the child agent answer with how the call went; to all others `ok` is a word like any other. */
export function tellsHowItWent(kind: SuspensionKind): boolean {
  return kind === 'client_exec' || kind === 'sub_agent'
}

function errorIn(value: Json): string {
  if (value === null || value === '') return 'it failed and did not say why'
  const told = [value, fieldOf(value, 'error'), fieldOf(value, 'reason'), fieldOf(value, 'message')].find(isText)
  return told ?? JSON.stringify(value)
}

function isText(value: Json | undefined): value is string {
  return typeof value === 'string' && value !== ''
}

function fieldOf(value: Json, name: string): Json | undefined {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject && Object.hasOwn(value, name) ? (value as { readonly [key: string]: Json })[name] : undefined
}

/** The rows that go with events: a call row for each suspension, a guard for each resolution, the title. `after` is the state with them. */
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
  return status === 'resolved' && tellsHowItWent(kind) && isError ? 'errored' : status
}

function callRow({ callId, round, kind, prompt, expiresInMs }: Suspension, after: ConversationState): ToolCallWrite {
  const found = findCall(after, callId)
  if (!found) throw new Error(`suspension of '${callId}' without its call`)
  const { name, executor } = found.call
  return { id: callId, name, executor, args: effectiveArgs(found.call), round, kind, prompt, expiresInMs }
}
