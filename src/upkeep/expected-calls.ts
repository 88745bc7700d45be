import { createHash } from 'node:crypto'
import type { Json } from '../base/json.ts'
import { abridgeCall } from '../log/abridge.ts'
import { blobRefsIn } from '../log/blob-ref.ts'
import { callPhase } from '../log/call-phase.ts'
import { encode } from '../log/codec.ts'
import type { LogEvent } from '../log/events.ts'
import { type CallEvent, foldCall, isCallEvent, newCall } from '../log/fold-call.ts'
import type { CallState } from '../log/state.ts'
import { loggedError, rowStatus } from '../store/change.ts'
import type { StoredCall, StoredEvent } from '../store/driver.ts'
import { decoded } from '../store/rows.ts'
import type { FindingCode } from './finding.ts'

/** What the log says about one row. Small: of its texts there is a digest. */
type ExpectedCall = {
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

function textDigest({ name, args, prompt, result }: StoredCall): string {
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

/** How a row differs from what the log says; null when it does not. A deadline may have been moved, so it is told apart. */
export function compareCall(
  row: StoredCall,
  expected: ExpectedCall,
): { readonly what: 'row' | 'deadline'; readonly how: string } | null {
  const differing = (['executor', 'round', 'kind', 'resolvedAt', 'resolvedSeq'] as const).filter(
    (name) => row[name] !== expected[name],
  )
  const names: string[] = [...differing]
  const isErrored = row.status === 'errored' && expected.mayBeErrored
  if (row.status !== expected.status && !isErrored) names.push('status')
  if (!expected.suspendedAt.includes(row.createdAt)) names.push('createdAt')
  const isSameText = textDigest(row) === expected.digest || (isErrored && textDigest(asLogged(row)) === expected.digest)
  if (!isSameText) names.push('name, args, prompt or result')
  if (names.length > 0) return { what: 'row', how: `differs from the log in ${names.join(', ')}` }
  if (row.expiresAt === expected.expiresAt) return null
  return {
    what: 'deadline',
    how: `expires at ${named(row.expiresAt)}; when it began to wait it was to expire at ${named(expected.expiresAt)}`,
  }
}

/** The row of a call that was ended as an error has what the caller gave; the log has what it was made of. */
function asLogged(row: StoredCall): StoredCall {
  const given = row.result === null ? undefined : decoded(row.result)
  return given === undefined ? row : { ...row, result: encode(loggedError(row.kind, given)) }
}

function named(at: number | null): string {
  return at === null ? 'no time' : String(at)
}

/** What is wrong with a row, and the seq it must have; null where there must be none. */
type Misfit = { readonly code: FindingCode; readonly problem: string; readonly firstSeq: number | null }

/** Which blobs a conversation refers to, by its events, and so what the rows that say so must be. Events come first. */
export class ExpectedBlobRefs {
  /** `from`: the first seq of the commit that may have brought the reference. */
  readonly #used = new Map<string, { readonly seq: number; readonly from: number }>()
  readonly #rows = new Set<string>()
  #at = 0
  #runFrom = 1

  /** `event` is null where the row cannot be read. */
  event({ seq, at, content }: StoredEvent, event: LogEvent | null): void {
    if (at !== this.#at) this.#runFrom = seq
    this.#at = at
    if (!event || !content.includes('"blob"')) return
    for (const hash of blobRefsIn(event.content as Json)) {
      if (!this.#used.has(hash)) this.#used.set(hash, { seq, from: this.#runFrom })
    }
  }

  /** `forkedAt` is 0 for what is no fork. */
  row(hash: string, firstSeq: number, forkedAt: number): Misfit | null {
    this.#rows.add(hash)
    const used = this.#used.get(hash)
    if (!used) {
      // A fork copies those of the commit it cuts through, too.
      if (firstSeq <= forkedAt) return null
      const problem = `a row says that seq ${firstSeq} refers to blob ${hash}, and no event does`
      return { code: 'blob_ref_unneeded', problem, firstSeq: null }
    }
    if (firstSeq <= used.seq && firstSeq >= used.from) return null
    const problem = `blob ${hash} is first referred to by event ${used.seq}, its row says ${firstSeq}`
    return { code: 'blob_ref_differs', problem, firstSeq: used.seq }
  }

  /** What is referred to without a row that says so. */
  *withoutRow(): Generator<{ readonly hash: string; readonly firstSeq: number }> {
    for (const [hash, { seq }] of this.#used) if (!this.#rows.has(hash)) yield { hash, firstSeq: seq }
  }
}
