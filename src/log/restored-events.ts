import { interruptedEnd } from './call-phase.ts'
import { tentative } from './decide.ts'
import type { AssistantPart, FilePart, IfInterrupted, NewEvent, TurnStatus, UserPart } from './events.ts'
import { foldEvents } from './fold-events.ts'
import { answerSchema } from './next-step.ts'
import type {
  Snapshot,
  SnapshotCall,
  SnapshotFile,
  SnapshotMessage,
  SnapshotPart,
  SnapshotPending,
  SnapshotTurn,
} from './snapshot.ts'
import { snapshotVersion } from './snapshot.ts'
import { openTurn } from './state.ts'
import { doneBefore } from './superseded.ts'

/** What a snapshot does not say, and what is not trusted in it. */
export type Restoring = {
  /** The id of the person who restores it. It stands for the senders, whose ids are not in a snapshot. */
  readonly who: string
  /** Milliseconds since 1970, to compute how long pending calls have left. */
  readonly now: number
  readonly newId: () => string
  /** The part that stands for a file. */
  readonly fileOf: (file: SnapshotFile) => UserPart
  /** The keys of the application's state that views show. Default: none. */
  readonly exposed?: readonly string[]
}

/**
 * The events that begin a log with what a snapshot says: `seeded`, `restored`, and the events of its turns, written as if they had happened here. Turns,
 * messages and calls get new ids, because the old ones may still be in use in the log that the snapshot was taken of. A turn with pending calls stays open, and
 * those after it stay queued. Everything else has ended: a call without an end reads as unknown, and a turn without one as failed. Pure.
 */
export function restoredEvents(snapshot: Snapshot, restoring: Restoring): NewEvent[] {
  const { version, seq, title, summary } = snapshot
  const seed: Snapshot = { version, seq, phase: 'idle', title, summary, turns: [], messages: [] }
  const messages = Map.groupBy(snapshot.messages, ({ turnId }) => turnId)
  const live = liveFrom(snapshot.turns, messages)
  const events: NewEvent[] = [{ type: 'seeded', content: { state: seed as never } }]
  const writer = new Writer(events, restoring)
  for (const [index, turn] of snapshot.turns.entries())
    writer.turn(turn, messages.get(turn.turnId) ?? [], index >= live)
  const { data } = snapshot
  if (data) {
    const { who, exposed = [] } = restoring
    events.push({ type: 'state_set', content: { patch: { set: data, remove: [] }, exposed, who } })
  }
  // The mark takes the second place, so everything after `seeded` moves on by one.
  const through = events.length + 1
  events.splice(1, 0, { type: 'restored', content: { version: snapshotVersion, seq, through } })
  return toldWhatWasDone(events)
}

/** What a call asks says which call of a withdrawn turn did the same, as when it was asked first. */
function toldWhatWasDone(events: NewEvent[]): NewEvent[] {
  if (!events.some(({ type }) => type === 'superseded')) return events
  const turn = openTurn(foldEvents(tentative(events, 0)))
  if (!turn?.replaced) return events
  return events.map((event) => {
    if (event.type !== 'suspension') return event
    const call = turn.calls.find(({ callId }) => callId === event.content.callId)
    const before = call ? doneBefore(turn, call) : null
    return before ? { ...event, content: { ...event.content, doneBefore: before } } : event
  })
}

/** The position of the turn that stays open: it waits for an answer, and no turn after it has ended. Past the end when there is none. */
function liveFrom(turns: readonly SnapshotTurn[], messages: ReadonlyMap<string, readonly SnapshotMessage[]>): number {
  const first = turns.findLastIndex(({ status }) => !isOpen(status)) + 1
  const waits = (messages.get(turns[first]?.turnId ?? '') ?? []).some(
    ({ parts, role }) => role === 'assistant' && parts.some(isPending),
  )
  return waits ? first : turns.length
}

function isOpen(status: SnapshotTurn['status']): status is 'open' | 'queued' {
  return status === 'open' || status === 'queued'
}

function isPending(part: SnapshotPart): part is PendingCall {
  return part.type === 'call' && part.status === 'pending' && part.pending !== undefined
}

type PendingCall = SnapshotCall & { readonly pending: SnapshotPending }

/** A turn that ran while the snapshot was taken may have ended elsewhere; here it has not. */
const interrupted = { status: 'failed' as TurnStatus, reason: 'interrupted' }
const model = { provider: 'restored', modelId: 'snapshot' }

class Writer {
  readonly #events: NewEvent[]
  readonly #restoring: Restoring

  constructor(events: NewEvent[], restoring: Restoring) {
    this.#events = events
    this.#restoring = restoring
  }

  turn(turn: SnapshotTurn, messages: readonly SnapshotMessage[], isLive: boolean): void {
    const [first] = messages
    if (!first) return
    const turnId = this.#restoring.newId()
    if (turn.replaced?.length) this.#withdrawn(turnId, turn.replaced, first.at)
    const options = isLive ? (turn.options ?? {}) : {}
    // Every turn begins with a message of a person.
    if (first.role === 'assistant') this.#user(turnId, { ...first, parts: [] }, options)
    for (const message of messages) {
      if (message.role === 'user') this.#user(turnId, message, options)
      else this.#assistant(turnId, message, isLive)
    }
    if (isLive) return
    const { status, reason } = isOpen(turn.status) ? interrupted : { status: turn.status, reason: turn.reason }
    this.#events.push({ type: 'turn_ended', content: { turnId, status, reason } })
  }

  /** A turn without words that did the same, and that the next one takes the place of. */
  #withdrawn(by: string, calls: readonly SnapshotCall[], at: number): void {
    const turnId = this.#restoring.newId()
    // `restored` is not among the events yet.
    const fromSeq = this.#events.length + 2
    const ended = calls.map((call): SnapshotCall => (call.status === 'pending' ? { ...call, status: 'open' } : call))
    this.#user(turnId, { role: 'user', turnId, at, parts: [] }, {})
    this.#assistant(turnId, { role: 'assistant', turnId, at, parts: ended }, false)
    // Each counts as started, so that it stays among what was done; where it never was, `rerun` says that it may be repeated.
    for (let index = this.#events.length - 1; index >= fromSeq - 2; index--) {
      const event = this.#events[index]!
      if (event.type !== 'tool_call' || this.#events[index + 1]?.type === 'tool_started') continue
      this.#events.splice(index + 1, 0, startOf(event.content.callId))
    }
    this.#events.push({ type: 'turn_ended', content: { turnId, status: 'cancelled', reason: null } })
    this.#events.push({ type: 'superseded', content: { fromSeq, by } })
  }

  #user(turnId: string, { at, parts, data }: SnapshotMessage, options: NonNullable<SnapshotTurn['options']>): void {
    const { who } = this.#restoring
    const message = { parts: parts.flatMap((part) => this.#said(part)) }
    const content = { turnId, message, options, who, ...(data === undefined ? {} : { data }), restoredAt: at }
    this.#events.push({ type: 'user_msg', content })
  }

  #assistant(turnId: string, message: SnapshotMessage, isLive: boolean): void {
    const { at, cutOff, withheld, object } = message
    const messageId = this.#restoring.newId()
    const calls: NewEvent[] = []
    const parts = withheld === undefined ? message.parts : []
    const written = parts.flatMap((part): (AssistantPart | FilePart)[] => {
      if (part.type !== 'call') return this.#said(part)
      // Calls of a message that was cut off were never run.
      if (cutOff) return []
      const callId = this.#restoring.newId()
      calls.push(...this.#call(turnId, callId, part, isLive))
      return [{ type: 'call', callId }]
    })
    if (withheld !== undefined) this.#events.push({ type: 'withheld', content: { messageId, hook: withheld } })
    this.#events.push({
      type: 'assistant_msg',
      content: {
        turnId,
        messageId,
        // Everything before it; `restored` is not among the events yet.
        seen: this.#events.length + 1,
        parts: written,
        model,
        usage: {},
        finishReason: message.finishReason ?? (calls.length > 0 ? 'tool-calls' : 'stop'),
        status: cutOff ?? 'complete',
        ...(object === undefined || withheld !== undefined ? {} : { object }),
        restoredAt: at,
      },
    })
    this.#events.push(...calls)
  }

  #call(turnId: string, callId: string, call: SnapshotCall, isLive: boolean): NewEvent[] {
    const { name, args, executor, callId: restoredFrom } = call
    const isAsked = isLive && isPending(call)
    const started = startedOf(call)
    const {
      kind = null,
      prompt = null,
      schema,
      ifInterrupted = started ?? 'rerun',
      timeoutMs = null,
      expiresInMs = null,
    } = isAsked ? call.pending : {}
    const tool: NewEvent = {
      type: 'tool_call',
      content: {
        turnId,
        callId,
        providerCallId: callId,
        name,
        args,
        executor,
        restoredFrom,
        gated: kind === 'approval',
        ifInterrupted,
        timeoutMs,
        expiresInMs,
        ...(isAsked ? { prompt } : {}),
        ...(schema === undefined ? {} : { schema }),
      },
    }
    if (!isAsked) {
      const halted: NewEvent[] =
        isLive && call.halts !== undefined ? [{ type: 'halted_by', content: { callId, reason: call.halts } }] : []
      // Started here means that the retry of its turn must be forced. Pages and child agents are never started by a `tool_started`.
      const begun = started !== null && executor === 'server' ? [startOf(callId)] : []
      return [tool, ...begun, ...halted, { type: 'tool_result', content: { callId, ...endOf(call) } }]
    }
    const { expiresAt } = call.pending
    const left = expiresAt === null ? null : Math.max(1, expiresAt - this.#restoring.now)
    const asked = { callId, round: 1, kind: call.pending.kind, prompt, expiresInMs: left }
    const suspension: NewEvent = {
      type: 'suspension',
      content: { ...asked, schema: answerSchema({ ...(schema === undefined ? {} : { schema }) }, asked.kind) },
    }
    // Only a call that was started is recovered.
    return [tool, ...(kind === 'recovery' ? [startOf(callId)] : []), suspension]
  }

  #said(part: SnapshotPart): UserPart[] {
    if (part.type === 'text') return [{ type: 'text', text: part.text }]
    return part.type === 'file' ? [this.#restoring.fileOf(part)] : []
  }
}

function startOf(callId: string): NewEvent {
  return { type: 'tool_started', content: { callId, attempt: 1 } }
}

/** Null: it was never started. A person who answers has no effect that could be repeated. */
function startedOf({ started, executor }: SnapshotCall): IfInterrupted | null {
  return started === undefined ? (executor === 'human' ? null : 'report') : started
}

function endOf({ status, result, outcome, userFacing }: SnapshotCall) {
  const how = outcome === undefined ? {} : { outcome }
  if (status === 'ok') return { ok: true as const, result, ...how }
  if (status !== 'error') return interruptedEnd
  const error = typeof result === 'string' ? result : JSON.stringify(result)
  return { ok: false as const, error, ...how, ...(userFacing ? { userFacing } : {}) }
}
