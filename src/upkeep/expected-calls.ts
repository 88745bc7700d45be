import { createHash } from 'node:crypto'
import type { Json } from '../base/json.ts'
import { abridgeCall } from '../log/abridge.ts'
import { blobRefsIn } from '../log/blob-ref.ts'
import { callPhase, deadlineOf } from '../log/call-phase.ts'
import { encode } from '../log/codec.ts'
import type { LogEvent } from '../log/events.ts'
import { type FlowQuestion, FlowQuestions } from '../log/flow-questions.ts'
import { type CallEvent, foldCall, isCallEvent, newCall } from '../log/fold-call.ts'
import type { CallState } from '../log/state.ts'
import { loggedError, noticeOf, rowStatus } from '../store/change.ts'
import type { StoredCall, StoredEvent } from '../store/driver.ts'
import { flowCall } from '../store/flow-call.ts'
import { encodeCall } from '../store/prepare-change.ts'
import { decoded, encodeNotice } from '../store/rows.ts'
import type { FindingCode } from './finding.ts'

/** What the row of one call must be, according to the log. Small: it has a digest of the texts. */
type ExpectedCall = {
  readonly id: string
  /** Covers name, args, prompt, notice and result. */
  readonly digest: string
  readonly status: StoredCall['status']
  /** The row may also say `errored`: for a call that was ended by id, only the row tells the two apart. */
  readonly mayBeErrored: boolean
  /** The row is optional: it belongs to a question of a session that has ended, and older versions did not write it. */
  readonly isOptional: boolean
  readonly executor: StoredCall['executor']
  readonly round: number
  readonly kind: StoredCall['kind']
  readonly expiresAt: number | null
  /** When the call suspended. The row was made at the first of these, or in a fork at a later one. */
  readonly suspendedAt: readonly number[]
  readonly resolvedAt: number | null
  readonly resolvedSeq: number | null
}

/** A text of a row. `whole` only where the row is wanted: pending calls may have more text than fits into memory. */
type Text = { readonly digest: string; readonly whole: string | null }

type Tracked = {
  /** With long fields cut. */
  call: CallState
  readonly name: Text
  /** The arguments it would run with now, and those of its latest suspension. */
  args: Text
  suspendedArgs: Text
  prompt: Text
  notice: string | null
  result: Text | null
  isRowInFork: boolean
}

/** Follows a log and computes what the rows of its calls must be. */
export class ExpectedCalls {
  /** The log was copied up to this `seq`: rows exist for the calls that were pending then, and for those that suspended later. */
  readonly #forkedAt: number | null
  readonly #wanted: ReadonlySet<string>
  readonly #open = new Map<string, Tracked>()
  readonly #rows = new Map<string, ExpectedCall>()
  readonly #whole = new Map<string, StoredCall>()
  readonly #conversationId: string
  /** Null unless the log is that of a session. */
  #questions: FlowQuestions | null = null

  /** `wanted`: the calls whose complete rows are kept. */
  constructor(conversationId: string, forkedAt: number | null, wanted: ReadonlySet<string> = new Set()) {
    this.#conversationId = conversationId
    this.#forkedAt = forkedAt
    this.#wanted = wanted
  }

  event(event: LogEvent): void {
    if (event.seq === 1 && event.type === 'flow_started') this.#questions = new FlowQuestions()
    if (this.#questions) for (const question of this.#questions.event(event)) this.#noteQuestion(question)
    else if (event.type === 'tool_call') {
      this.#open.set(event.content.callId, this.#tracked(newCall(event)))
    } else if (isCallEvent(event)) {
      const tracked = this.#open.get(event.content.callId)
      if (tracked) this.#follow(tracked, event)
    } else if (event.type === 'turn_ended') this.#settle()
  }

  /** The rows by call id. Must be called after the last event. */
  rows(): ReadonlyMap<string, ExpectedCall> {
    for (const tracked of this.#open.values()) this.#note(tracked)
    this.#open.clear()
    return this.#rows
  }

  /** The complete rows of the wanted calls. Must be called after `rows`. */
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
      tracked.notice = encodeNotice(noticeOf(call, event.content))
      tracked.result = null
    } else if (event.type === 'resolution') {
      const answered = call.rounds.find(({ resolution }) => resolution?.seq === event.seq)
      if (answered?.resolution?.edited) tracked.args = this.#text(callId, answered.resolution.edited.after)
      if (answered && answered === last) tracked.result = this.#text(callId, event.content.value)
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
      notice: null,
      result: null,
      isRowInFork: false,
    }
  }

  #text(callId: string, value: Json): Text {
    const text = encode(value)
    return { digest: digestOf(text), whole: this.#wanted.has(callId) ? text : null }
  }

  /** Records and drops the ended calls of a turn that has ended. */
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
    const { call, name, suspendedArgs, prompt, notice, result } = tracked
    this.#rows.set(call.callId, {
      ...row,
      digest: joined([
        name.digest,
        suspendedArgs.digest,
        prompt.digest,
        digestOrNone(notice),
        (result ?? nothing).digest,
      ]),
      mayBeErrored: mayBeErrored(call),
      isOptional: false,
      suspendedAt: call.rounds.map(({ at }) => at),
    })
    if (!this.#wanted.has(call.callId)) return
    const whole = {
      name: name.whole!,
      args: suspendedArgs.whole!,
      prompt: prompt.whole!,
      notice,
      result: result?.whole ?? null,
    }
    this.#whole.set(call.callId, { ...row, ...whole, meta: null })
  }

  #noteQuestion(question: FlowQuestion): void {
    const { expiresInMs: _, ...row } = encodeCall(flowCall(this.#conversationId, question))
    const { at, end } = question
    const times = { expiresAt: null, createdAt: at, resolvedAt: end?.at ?? null, resolvedSeq: null }
    const expected = { ...row, ...times, conversationId: this.#conversationId }
    const { name: _name, args: _args, prompt: _prompt, notice: _notice, result: _result, ...short } = expected
    this.#rows.set(row.id, {
      ...short,
      digest: textDigest(expected),
      mayBeErrored: false,
      isOptional: end !== null,
      // Where an older version asked, the row was made with the answer.
      suspendedAt: [at, ...(end ? [end.at] : [])],
    })
    if (this.#wanted.has(row.id)) this.#whole.set(row.id, expected)
  }

  #hasRow({ call, isRowInFork }: Tracked): boolean {
    const last = call.rounds.at(-1)
    if (!last) return false
    if (this.#forkedAt === null || last.seq > this.#forkedAt) return true
    return isRowInFork || wasPending(call)
  }
}

/** A child agent's call stays with the conversation that was forked. */
function wasPending(call: CallState): boolean {
  const phase = callPhase(call)
  return phase.type === 'pending' && phase.round.kind !== 'sub_agent'
}

/** As `eventsOfEnd` writes it. Older logs record an error as a `resolved` by the system. */
function mayBeErrored({ rounds, result }: CallState): boolean {
  const { kind, resolution } = rounds.at(-1)!
  if (resolution?.status === 'resolved') return resolution.who === 'system'
  return resolution?.status === 'denied' && (kind === 'approval' || result?.ok === false)
}

function textDigest({ name, args, prompt, notice, result }: StoredCall): string {
  return joined([name, args, prompt, notice, result].map(digestOrNone))
}

function digestOrNone(text: string | null): string {
  return text === null ? nothing.digest : digestOf(text)
}

const nothing: Text = { digest: '', whole: null }

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64')
}

function joined(digests: readonly string[]): string {
  return digestOf(JSON.stringify(digests))
}

/** Without `meta`, which is the application's: a row that is rebuilt keeps it. */
type Row = Omit<StoredCall, 'name' | 'args' | 'prompt' | 'notice' | 'result' | 'meta'>

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
    expiresAt: deadlineOf(round),
    createdAt: call.rounds[0]!.at,
    resolvedAt: resolution?.at ?? null,
    resolvedSeq: resolution?.seq ?? null,
  }
}

/** How a row differs from the log; null when it does not. The deadline of an ended call is only a record, so a deadline is reported separately. */
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
  if (!isSameText) names.push('name, args, prompt, notice or result')
  if (names.length > 0) return { what: 'row', how: `differs from the log in ${names.join(', ')}` }
  if (row.expiresAt === expected.expiresAt) return null
  return {
    what: 'deadline',
    how: `expires at ${named(row.expiresAt)}; its deadline in the log is ${named(expected.expiresAt)}`,
  }
}

/** The row of a call that ended with an error holds the caller's value; the log holds the recorded result. */
function asLogged(row: StoredCall): StoredCall {
  const result = row.result === null ? undefined : decoded(row.result)
  return result === undefined || row.kind === 'flow' ? row : { ...row, result: encode(loggedError(row.kind, result)) }
}

function named(at: number | null): string {
  return at === null ? 'no time' : String(at)
}

/** A wrong reference row, and the `seq` it must have; null when it must not exist. */
type Misfit = { readonly code: FindingCode; readonly problem: string; readonly firstSeq: number | null }

/** The blobs that a conversation's events refer to, and so the reference rows it must have. Events come first. */
export class ExpectedBlobRefs {
  /** `from`: the first `seq` of the commit that may have added the reference. */
  readonly #used = new Map<string, { readonly seq: number; readonly from: number }>()
  readonly #rows = new Set<string>()
  #at = 0
  #runFrom = 1

  /** `event` is null when the row cannot be read. */
  event({ seq, at, content }: StoredEvent, event: LogEvent | null): void {
    if (at !== this.#at) this.#runFrom = seq
    this.#at = at
    if (!event || !content.includes('"blob"')) return
    for (const hash of blobRefsIn(event.content as Json)) {
      if (!this.#used.has(hash)) this.#used.set(hash, { seq, from: this.#runFrom })
    }
  }

  /** `forkedAt` is 0 for a conversation that is not a fork. */
  row(hash: string, firstSeq: number, forkedAt: number): Misfit | null {
    this.#rows.add(hash)
    const used = this.#used.get(hash)
    if (!used) {
      // A fork also copies references of the commit that it cuts in two.
      if (firstSeq <= forkedAt) return null
      const problem = `a row says that seq ${firstSeq} refers to blob ${hash}, but no event does`
      return { code: 'blob_ref_unneeded', problem, firstSeq: null }
    }
    if (firstSeq <= used.seq && firstSeq >= used.from) return null
    const problem = `event ${used.seq} is the first to refer to blob ${hash}, but its row says ${firstSeq}`
    return { code: 'blob_ref_differs', problem, firstSeq: used.seq }
  }

  /** References in events that have no row. */
  *withoutRow(): Generator<{ readonly hash: string; readonly firstSeq: number }> {
    for (const [hash, { seq }] of this.#used) if (!this.#rows.has(hash)) yield { hash, firstSeq: seq }
  }
}
