import { isDeepStrictEqual } from 'node:util'
import { EventUnknownError } from '../base/errors/log-errors.ts'
import { PerdureError } from '../base/errors/perdure-error.ts'
import { canEncode, decode, encode } from '../log/codec.ts'
import { wakingTypes } from '../log/event-roles.ts'
import type { LogEvent } from '../log/events.ts'
import { type FsmState, fsmStateOf } from '../log/fsm-state.ts'
import { baseOf } from '../log/state.ts'
import { validateEvent } from '../log/validate-event.ts'
import type { StoredCall, StoredEvent, StoredSummary } from '../store/driver.ts'
import type { Parent } from '../store/records.ts'
import { decoded, decodeEvent, openerIn } from '../store/rows.ts'
import type { ConversationRow, UpkeepConversation } from '../store/upkeep.ts'
import { compareCall, ExpectedBlobRefs, ExpectedCalls } from './expected-calls.ts'
import { type Finding, type FindingCode, finding } from './finding.ts'
import { type Folded, IgnoredEvents, LogFold } from './log-fold.ts'

/** The facts in a conversation's log that its other rows are checked against. */
export type LogFacts = {
  readonly lastSeq: number
  readonly lastAt: number
  /** Null when the log cannot be folded. */
  readonly folded: Folded | null
  /** The title set by an event of this log, and its `seq`. */
  readonly title: { readonly text: string | null; readonly seq: number } | null
  /** Who its first message, or the start of its session, says has opened it. */
  readonly opener: string | null
  /** The last waking event that needs no lease; and the last event that only the owner appends. */
  readonly lastWaking: { readonly seq: number; readonly at: number } | null
  readonly lastOwned: number
  /** What the cached state must be at the `seq` it claims. */
  readonly fsmAtCached: FsmState | null
  /** What the cached state must say if the owner has appended since. */
  readonly fsmAtOwned: FsmState | null
}

/** `meta`: what the application attached to the row. The log does not have it, so a repair keeps it. */
export type CallProblem = { readonly callId: string; readonly isUnlogged: boolean; readonly meta?: string | null }

/** The conversation's own rows that must be rebuilt, beside its columns. */
export type RowProblems = {
  readonly calls: CallProblem[]
  readonly bases: { toSeq: number; base: string }[]
  readonly refs: { hash: string; firstSeq: number }[]
  readonly unneededRefs: string[]
}

const foreignTypes = new Set([
  'user_msg',
  'resolution',
  'cancel_requested',
  'deadline_moved',
  'titled',
  'note',
  'seeded',
])
const pastDueMs = 60_000

/** Receives the rows of one conversation, events first, and checks them against the log. */
export class ConversationExaminer {
  readonly conversation: UpkeepConversation
  readonly tenant: string
  readonly findings: Finding[] = []
  readonly problems: RowProblems = { calls: [], bases: [], refs: [], unneededRefs: [] }
  readonly ignored = new IgnoredEvents()
  readonly parent: Parent | null
  readonly cached: FsmState | null
  readonly #now: number
  readonly #fold: LogFold
  readonly #calls: ExpectedCalls
  readonly #callIds = new Set<string>()
  readonly #refs = new ExpectedBlobRefs()
  readonly #bases = new Map<number, string | null>()
  #isIntact = true
  #seq = 0
  #at = 0
  #folded: Folded | null = null
  #hasFolded = false
  #title: LogFacts['title'] = null
  #lastWaking: LogFacts['lastWaking'] = null
  #opener: string | null = null
  #lastOwned = 0
  #fsmAtCached: FsmState | null = null

  constructor(
    conversation: UpkeepConversation,
    tenant: string,
    { now, summarySeqs, wanted }: { now: number; summarySeqs: readonly number[]; wanted?: ReadonlySet<string> },
  ) {
    this.conversation = conversation
    this.tenant = tenant
    this.#now = now
    this.parent = this.mustBeReadable<Parent>('parent', conversation.parent)
    this.mustBeReadable('settings', conversation.settings)
    this.cached = readFsm(conversation.fsmState)
    const cachedSeq = this.cached?.lastSeq ?? -1
    const onWatched = (seq: number, folded: Folded): void => {
      if (folded.kind !== 'conversation') return
      if (seq === cachedSeq) this.#fsmAtCached = fsmStateOf(folded.state)
      // Only part of a turn that is too large for memory is known.
      if (summarySeqs.includes(seq) && !folded.state.isTrimmed) this.#bases.set(seq, encode(baseOf(folded.state)))
    }
    const watched = new Set([cachedSeq, ...summarySeqs])
    this.#fold = new LogFold(watched, onWatched, (...told) => this.ignored.add(...told))
    if (cachedSeq === 0) this.#fsmAtCached = { state: 'idle', pending: [], lastSeq: 0 }
    this.#calls = new ExpectedCalls(conversation.id, this.forkedAt, wanted)
  }

  get forkedAt(): number | null {
    return this.parent?.at ?? null
  }

  row({ type, row }: ConversationRow): void {
    switch (type) {
      case 'event':
        return this.#event(row)
      case 'call':
        return this.#call(row)
      case 'summary':
        return this.#summary(row)
      case 'key':
        if (row.seq > this.#seq) this.add('key_misplaced', `key '${row.key}' is of seq ${row.seq}, past the end`)
        return
      case 'blob_ref':
        return this.#blobRef(row.hash, row.firstSeq)
      case 'model_call':
        return
    }
  }

  /** Must be called after all rows. `hasBlob` is called for blobs that events refer to without a row. */
  async end(hasBlob: (hash: string) => Promise<boolean>): Promise<LogFacts> {
    const folded = this.#foldedLog()
    const owned = this.#fold.atLandmark
    if (folded) {
      for (const [callId, { isOptional }] of this.#calls.rows()) {
        if (isOptional || this.#callIds.has(callId)) continue
        this.add('call_row_missing', `call '${callId}' has no row`)
        this.problems.calls.push({ callId, isUnlogged: false })
      }
    }
    if (this.#isIntact) {
      for (const ref of this.#refs.withoutRow()) {
        if (!(await hasBlob(ref.hash))) continue
        this.add('blob_ref_missing', `event ${ref.firstSeq} refers to blob ${ref.hash}, but that reference has no row`)
        this.problems.refs.push(ref)
      }
    }
    return {
      lastSeq: this.#seq,
      lastAt: this.#at,
      folded,
      title: this.#title,
      opener: this.#opener,
      lastWaking: this.#lastWaking,
      lastOwned: this.#lastOwned,
      fsmAtCached: this.#fsmAtCached,
      fsmAtOwned: owned?.kind === 'conversation' ? fsmStateOf(owned.state) : null,
    }
  }

  /** The complete rows of the wanted calls. */
  wholeCalls(): ReadonlyMap<string, StoredCall> {
    return this.#calls.whole()
  }

  add(code: FindingCode, problem: string): void {
    this.findings.push(finding(code, { tenant: this.tenant, conversation: this.conversation.id }, problem))
  }

  /** Null when the text is not JSON, which is reported. */
  mustBeReadable<T>(name: string, text: string | null): T | null {
    const value = text === null ? null : decoded(text)
    if (value === undefined) this.add('row_unreadable', `its ${name} is not JSON`)
    return (value ?? null) as T | null
  }

  #event(row: StoredEvent): void {
    if (row.seq !== this.#seq + 1) {
      this.add('seq_gap', `event ${row.seq} comes after event ${this.#seq}`)
      this.#isIntact = false
    }
    this.#seq = row.seq
    this.#at = row.at
    const event = this.#read(row)
    this.#refs.event(row, event)
    if (!event) {
      this.#isIntact = false
      return
    }
    this.#note(event)
    if (this.#isIntact) {
      this.#fold.event(event, this.#lastOwned === event.seq)
      this.#calls.event(event)
    }
  }

  #read(row: StoredEvent): LogEvent | null {
    let event: LogEvent
    try {
      event = decodeEvent(this.conversation.id, row)
    } catch {
      this.add('event_unreadable', `event ${row.seq} (${row.type}) is not JSON`)
      return null
    }
    // Checked before anything walks over it: it may be nested without limit.
    if (!canEncode(event.content)) {
      this.add('event_invalid', `event ${row.seq} (${row.type}) has a value that a log cannot hold`)
      return null
    }
    try {
      return validateEvent(event)
    } catch (error) {
      if (!PerdureError.isInstance(error)) throw error
      this.add(error instanceof EventUnknownError ? 'event_unknown' : 'event_invalid', plain(error.message))
      return null
    }
  }

  #note(event: LogEvent): void {
    const { seq, at, type } = event
    if (type === 'titled') this.#title = { text: event.content.title, seq }
    this.#opener ??= openerIn([event])
    if (wakingTypes.has(type)) this.#lastWaking = { seq, at }
    if (!foreignTypes.has(type)) this.#lastOwned = seq
  }

  #foldedLog(): Folded | null {
    if (this.#hasFolded) return this.#folded
    this.#hasFolded = true
    if (!this.#isIntact) return null
    const folded = this.#fold.end()
    if (this.#fold.problem === null) this.#folded = folded
    else this.add('log_unfoldable', plain(this.#fold.problem))
    return this.#folded
  }

  #call(row: StoredCall): void {
    if (!this.#foldedLog()) return
    this.#callIds.add(row.id)
    const expected = this.#calls.rows().get(row.id)
    if (row.status === 'pending' && row.expiresAt !== null && row.expiresAt < this.#now - pastDueMs) {
      this.add('call_past_due', `call '${row.id}' waits since its deadline at ${row.expiresAt} has passed`)
    }
    if (!expected) {
      this.add('call_row_unlogged', `the row of call '${row.id}' has no place in the log`)
      this.problems.calls.push({ callId: row.id, isUnlogged: true })
      return
    }
    const difference = compareCall(row, expected)
    if (!difference) return
    if (difference.what === 'deadline') {
      if (row.status !== 'pending') return
      this.add('deadline_differs', `call '${row.id}' ${difference.how}`)
    } else this.add('call_row_differs', `the row of call '${row.id}' ${difference.how}`)
    this.problems.calls.push({ callId: row.id, isUnlogged: false, meta: row.meta })
  }

  #summary({ toSeq, base }: StoredSummary): void {
    const folded = this.#foldedLog()
    if (toSeq > this.#seq) {
      this.add('summary_misplaced', `the summary to seq ${toSeq} reaches past the log's end at ${this.#seq}`)
      return
    }
    const expected = this.#bases.get(toSeq) ?? null
    if (folded?.kind !== 'conversation' || expected === null || isSame(base, expected)) return
    this.add('summary_base_differs', `the summary to seq ${toSeq} starts from a state that differs from the log's`)
    this.problems.bases.push({ toSeq, base: expected })
  }

  #blobRef(hash: string, firstSeq: number): void {
    const misfit = this.#refs.row(hash, firstSeq, this.forkedAt ?? 0)
    if (!misfit || !this.#isIntact) return
    this.add(misfit.code, misfit.problem)
    if (misfit.firstSeq === null) this.problems.unneededRefs.push(hash)
    else this.problems.refs.push({ hash, firstSeq: misfit.firstSeq })
  }
}

/** Null when the text does not have the shape of a cached state. */
function readFsm(text: string | null): FsmState | null {
  try {
    const value = text === null ? null : (decode(text) as Partial<FsmState> | null)
    return Number.isSafeInteger(value?.lastSeq) ? (value as FsmState) : null
  } catch {
    return null
  }
}

function isSame(text: string | null, expected: string): boolean {
  if (text === expected) return true
  try {
    return text !== null && isDeepStrictEqual(decode(text), decode(expected))
  } catch {
    return false
  }
}

/** Drops the advice of the message, which does not apply here. */
function plain(message: string): string {
  return message.replace(/\. [A-Z].*$/, '')
}
