import { createHash } from 'node:crypto'
import type { Json } from '../base/json.ts'
import { rowStatus } from '../engine/child/change-for.ts'
import { abridgeCall } from '../log/abridge.ts'
import { callPhase } from '../log/call-phase.ts'
import { encode } from '../log/codec.ts'
import type { LogEvent } from '../log/events.ts'
import { type CallEvent, foldCall, isCallEvent, newCall } from '../log/fold-call.ts'
import type { CallState } from '../log/state.ts'
import type { StoredCall } from '../store/driver.ts'

/** What the log says about one row. Small: of its texts there is a digest. */
export type ExpectedCall = {
  readonly id: string
  /** Of name, args, prompt and result. */
  readonly digest: string
  readonly status: StoredCall['status']
  /** A row may also say `errored`: ending by id tells the two apart in the row alone. */
  readonly mayBeErrored: boolean
  readonly executor: StoredCall['executor']
  readonly round: number
  readonly kind: StoredCall['kind']
  readonly expiresAt: number | null
  /** When it suspended; the first is when its row was made, but in a fork it may be a later one. */
  readonly suspendedAt: readonly number[]
  readonly resolvedAt: number | null
  readonly resolvedSeq: number | null
}

/** A text of a row. Whole only where the row is wanted: calls that wait may have more of it than fits into memory. */
type Text = { readonly digest: string; readonly whole: string | null }

type Tracked = {
  /** Without what is long in it. */
  call: CallState
  readonly name: Text
  /** The arguments it would run with now, and those it had when it suspended last. */
  args: Text
  suspendedArgs: Text
  prompt: Text
  result: Text | null
  isRowInFork: boolean
}

/** Follows a log, and tells what the rows of its calls must be. */
export class ExpectedCalls {
  /** Up to there the log was copied: rows exist for what was pending then, and what suspended later. */
  readonly #forkedAt: number | null
  readonly #wanted: ReadonlySet<string>
  readonly #open = new Map<string, Tracked>()
  readonly #rows = new Map<string, ExpectedCall>()
  readonly #whole = new Map<string, StoredCall>()
  readonly #conversationId: string

  /** `wanted`: the calls whose whole rows are kept. */
  constructor(conversationId: string, forkedAt: number | null, wanted: ReadonlySet<string> = new Set()) {
    this.#conversationId = conversationId
    this.#forkedAt = forkedAt
    this.#wanted = wanted
  }

  event(event: LogEvent): void {
    if (event.type === 'tool_call') {
      this.#open.set(event.content.callId, this.#tracked(newCall(event)))
    } else if (isCallEvent(event)) {
      const tracked = this.#open.get(event.content.callId)
      if (tracked) this.#follow(tracked, event)
    } else if (event.type === 'turn_ended') this.#settle()
  }

  /** By call id. To be called after the last event. */
  rows(): ReadonlyMap<string, ExpectedCall> {
    for (const tracked of this.#open.values()) this.#note(tracked)
    this.#open.clear()
    return this.#rows
  }

  /** Those of `wanted` that have a row; to be called after `rows`. */
  whole(): ReadonlyMap<string, StoredCall> {
    return this.#whole
  }

  #follow(tracked: Tracked, event: CallEvent): void {
    if (event.seq > (this.#forkedAt ?? 0)) tracked.isRowInFork ||= wasPending(tracked.call)
    const call = foldCall(tracked.call, event)
    const { callId } = call
    tracked.call = abridgeCall(call)
    const last = call.rounds.at(-1)
    if (event.type === 'suspension') {
      tracked.suspendedArgs = tracked.args
      tracked.prompt = this.#text(callId, event.content.prompt)
      tracked.result = null
    } else if (event.type === 'resolution') {
      const taken = call.rounds.find(({ resolution }) => resolution?.seq === event.seq)
      if (taken?.resolution?.edited) tracked.args = this.#text(callId, taken.resolution.edited.after)
      if (taken && taken === last) tracked.result = this.#text(callId, event.content.value)
    }
  }

  #tracked(call: CallState): Tracked {
    const [name, args] = [this.#text(call.callId, call.name), this.#text(call.callId, call.args)]
    return {
      call: abridgeCall(call),
      name,
      args,
      suspendedArgs: args,
      prompt: nothing,
      result: null,
      isRowInFork: false,
    }
  }

  #text(callId: string, value: Json): Text {
    const text = encode(value)
    return { digest: digestOf(text), whole: this.#wanted.has(callId) ? text : null }
  }

  /** A turn has ended, and with it most of what is followed. */
  #settle(): void {
    for (const [callId, tracked] of this.#open) {
      if (callPhase(tracked.call).type !== 'ended') continue
      this.#note(tracked)
      this.#open.delete(callId)
    }
  }

  #note(tracked: Tracked): void {
    if (!this.#hasRow(tracked)) return
    const row = rowOf(tracked, this.#conversationId)
    const { call, name, suspendedArgs, prompt, result } = tracked
    this.#rows.set(call.callId, {
      ...row,
      digest: joined([name, suspendedArgs, prompt, result ?? nothing].map(({ digest }) => digest)),
      mayBeErrored: mayBeErrored(call),
      suspendedAt: call.rounds.map(({ at }) => at),
    })
    if (!this.#wanted.has(call.callId)) return
    const whole = {
      name: name.whole!,
      args: suspendedArgs.whole!,
      prompt: prompt.whole!,
      result: result?.whole ?? null,
    }
    this.#whole.set(call.callId, { ...row, ...whole })
  }

  #hasRow({ call, isRowInFork }: Tracked): boolean {
    const last = call.rounds.at(-1)
    if (!last) return false
    if (this.#forkedAt === null || last.seq > this.#forkedAt) return true
    return isRowInFork || wasPending(call)
  }
}

/** A child agent's call belongs to the conversation it was forked from. */
function wasPending(call: CallState): boolean {
  const phase = callPhase(call)
  return phase.type === 'pending' && phase.round.kind !== 'sub_agent'
}

/** As `eventsOfEnd` writes it; before there was one, an error was a `resolved` of the system. */
function mayBeErrored({ rounds, result }: CallState): boolean {
  const { kind, resolution } = rounds.at(-1)!
  if (resolution?.status === 'resolved') return resolution.who === 'system'
  return resolution?.status === 'denied' && (kind === 'approval' || result?.ok === false)
}

export function textDigest({ name, args, prompt, result }: StoredCall): string {
  return joined([name, args, prompt, result].map((text) => (text === null ? nothing.digest : digestOf(text))))
}

const nothing: Text = { digest: '', whole: null }

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64')
}

function joined(digests: readonly string[]): string {
  return digestOf(JSON.stringify(digests))
}

type Row = Omit<StoredCall, 'name' | 'args' | 'prompt' | 'result'>

function rowOf({ call }: Tracked, conversationId: string): Row {
  const round = call.rounds.at(-1)!
  const { resolution } = round
  const { callId } = call
  return {
    id: callId,
    conversationId,
    executor: call.executor,
    status: resolution ? rowStatus({ callId, round: round.round, kind: round.kind, ...resolution }) : 'pending',
    round: round.round,
    kind: round.kind,
    expiresAt: round.expiresInMs === null ? null : round.at + round.expiresInMs,
    createdAt: call.rounds[0]!.at,
    resolvedAt: resolution?.at ?? null,
    resolvedSeq: resolution?.seq ?? null,
  }
}
