import { errorCodes } from '../../base/errors/codes.ts'
import type { PerdureError } from '../../base/errors/perdure-error.ts'
import type { Json } from '../../base/json.ts'
import type { Redact } from '../../base/redact/redactor.ts'
import { callPhase } from '../../log/call-phase.ts'
import type { AssistantPart, CallResult, NewEvent, TurnStatus } from '../../log/events.ts'
import { phaseOf } from '../../log/fsm-state.ts'
import { onInterrupted } from '../../log/next-step.ts'
import {
  type DraftCall,
  type MessageOutcome,
  type Outcome,
  type ResultOutcome,
  settle,
  type Verdict,
} from '../../log/settle.ts'
import { type ConversationState, findCall, openTurn, type TurnState } from '../../log/state.ts'
import type { Lifecycle } from '../../snapshot/persistence.ts'
import type { Change } from '../../store/change.ts'
import type { WorkingSet } from '../../store/working-sets.ts'
import { pendingItems } from '../../view/view-of.ts'
import type { TurnContext } from './turn-context.ts'

type Entry = { readonly outcome: Outcome; readonly settled?: (isCommitted: boolean) => void }

/** What has happened here and is not in the log yet, without the secrets in it. */
export class PendingOutcomes {
  readonly #redact: Redact
  #entries: Entry[] = []

  constructor(redact: Redact) {
    this.#redact = redact
  }

  get isEmpty(): boolean {
    return this.#entries.length === 0
  }

  outcomes(): Outcome[] {
    return this.#entries.map(({ outcome }) => outcome)
  }

  /** `settled` receives whether the outcome was committed. */
  add(outcome: Outcome, settled?: (isCommitted: boolean) => void): void {
    const redacted = redactOutcome(outcome, this.#redact)
    this.#entries.push(settled ? { outcome: redacted, settled } : { outcome: redacted })
  }

  /** The outcomes are in the log, or have no place in it any more. */
  settle(outcomes: readonly Outcome[]): void {
    if (outcomes.length === 0) return
    const isSettled = new Set(outcomes)
    const settled = this.#entries.filter(({ outcome }) => isSettled.has(outcome))
    this.#entries = this.#entries.filter(({ outcome }) => !isSettled.has(outcome))
    for (const entry of settled) entry.settled?.(true)
  }

  /** None of them will be committed. */
  drop(): void {
    for (const { settled } of this.#entries.splice(0)) settled?.(false)
  }

  hasResult(callId: string): boolean {
    return this.#entries.some(({ outcome }) => outcome.type === 'result' && outcome.callId === callId)
  }

  /** There is only ever one cancel. */
  replaceCancel(cancel: Extract<Outcome, { type: 'cancel' }>): void {
    this.#entries = this.#entries.filter(({ outcome }) => outcome.type !== 'cancel')
    this.add(cancel)
  }
}

/** An outcome without the secrets in what tools, hooks and providers said when they failed. Whatever is committed for a turn has passed it. */
export function redactOutcome(outcome: Outcome, redact: Redact): Outcome {
  switch (outcome.type) {
    case 'result':
      return redactCall(outcome, redact)
    case 'end':
      return outcome.reason === null ? outcome : { ...outcome, reason: redact(outcome.reason) }
    case 'message':
      return redactMessage(outcome, redact)
    case 'cancel':
      return outcome.partial ? { ...outcome, partial: redactDraft(outcome.partial, redact) } : outcome
    case 'injection':
    case 'title':
      return outcome
  }
}

function redactCall(outcome: ResultOutcome, redact: Redact): ResultOutcome {
  const { result, halt } = outcome
  if (result.ok && halt === undefined) return outcome
  return { ...outcome, result: redactResult(result, redact), ...(halt === undefined ? {} : { halt: redact(halt) }) }
}

function redactMessage(outcome: MessageOutcome, redact: Redact): MessageOutcome {
  const { failure, verdict } = outcome
  return {
    ...redactDraft(outcome, redact),
    ...(failure === undefined ? {} : { failure: redact(failure) }),
    ...(verdict === undefined ? {} : { verdict: redactVerdict(verdict, redact) }),
  }
}

function redactDraft<Draft extends Pick<MessageOutcome, 'parts' | 'calls'>>(draft: Draft, redact: Redact): Draft {
  if (!draft.parts.some(isFailure) && !draft.calls.some(isRefused)) return draft
  return {
    ...draft,
    parts: draft.parts.map((part) => (isFailure(part) ? { ...part, result: redactJson(part.result, redact) } : part)),
    calls: draft.calls.map((call) => (isRefused(call) ? { ...call, result: redactResult(call.result, redact) } : call)),
  }
}

/** What a hook says is meant for the model or for people, and often quotes what it was thrown. */
function redactVerdict(verdict: Verdict, redact: Redact): Verdict {
  if (verdict.type === 'regenerate') return { ...verdict, feedback: redact(verdict.feedback) }
  return { ...verdict, reason: redact(verdict.reason) }
}

function redactResult<Result extends CallResult>(result: Result, redact: Redact): Result {
  return result.ok ? result : { ...result, error: redact(result.error) }
}

type ProviderFailure = Extract<AssistantPart, { type: 'provider_result' }>

function isFailure(part: AssistantPart): part is ProviderFailure {
  return part.type === 'provider_result' && part.isError === true
}

function isRefused(call: DraftCall): call is DraftCall & { readonly result: CallResult } {
  return call.result?.ok === false
}

function redactJson(value: Json, redact: Redact): Json {
  if (typeof value === 'string') return redact(value, { opaqueWords: true })
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((member: Json) => redactJson(member, redact))
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, redactJson(member, redact)]))
}

type Where = Pick<TurnContext, 'ref' | 'store'> & { readonly node: Pick<TurnContext['node'], 'logger'> }

/**
 * Which rows the commits of an owner end. A commit under the lease that is refused as stale on the very log it was decided on has met a row that says
 * something else than the log. The log wins: the commit is made without that row, and the doctor rebuilds it.
 */
export class RowGuards {
  /** The rows that are pending, by call and round; null as long as none has disagreed. */
  #pending: ReadonlySet<string> | null = null

  /** A row has disagreed: from now on only those that are pending in the store are ended. */
  async distrust({ node, ref, store }: Where): Promise<void> {
    node.logger.error('the row of a call is not what the log says; run perdure doctor', ref)
    const rows = await store.pendingToolCalls(ref.id)
    this.#pending = new Set(rows.map((row) => keyOf(row.id, row.round)))
  }

  /** A commit was made, and the rows are what they are. */
  trust(): void {
    this.#pending = null
  }

  guarded<C extends Pick<Change, 'resolve'>>(change: C): C {
    const pending = this.#pending
    if (!pending || !change.resolve) return change
    return { ...change, resolve: change.resolve.filter(({ callId, round }) => pending.has(keyOf(callId, round))) }
  }
}

function keyOf(callId: string, round: number): string {
  return `${round} ${callId}`
}

/** The results, then the end of the turn in their place. A third refusal in a row is not about what was written. */
const mostInARow = 2

/** What was refused since a commit was made. */
export class RefusedCommits {
  #inARow = 0

  committed(): void {
    this.#inARow = 0
  }

  /** What to record in place of these outcomes. Throws the error where the store takes nothing at all. */
  instead(error: PerdureError, outcomes: readonly Outcome[], open: TurnState | null): readonly Outcome[] {
    this.#inARow += 1
    if (errorCodes[error.code].family === 'store' || this.#inARow > mostInARow) throw error
    return replaceRefused(error, outcomes, open)
  }
}

/** The store will never take these outcomes (too large, not JSON): what is true and can be recorded in their place. */
export function replaceRefused(
  error: PerdureError,
  outcomes: readonly Outcome[],
  open: TurnState | null,
): readonly Outcome[] {
  const results = outcomes.flatMap((outcome): Outcome[] => {
    if (outcome.type !== 'result') return []
    const problem = `it ran, but its result cannot be recorded: ${error.message}`
    const { ask: _, ...plain } = outcome
    return [{ ...plain, result: { ok: false, error: problem, outcome: 'ran' } }]
  })
  if (results.length > 0 || !open) return results
  return [{ type: 'end', turnId: open.turnId, status: 'failed', reason: error.code }]
}

/** What an owner that ends in good order leaves to the next: the results that are not in the log yet, and of the calls it stopped what their tools say. */
export function handOverEvents(
  state: ConversationState,
  outcomes: readonly Outcome[],
  interrupted: readonly string[],
): NewEvent[] {
  const results = outcomes.filter((outcome) => outcome.type === 'result')
  return [
    ...results.flatMap((outcome) => settle(state, outcome)),
    ...interrupted.flatMap((callId) => interruptedEvents(state, callId)),
  ]
}

function interruptedEvents(state: ConversationState, callId: string): NewEvent[] {
  const found = findCall(state, callId)
  if (!found || callPhase(found.call).type !== 'started' || found.call.ifInterrupted === 'rerun') return []
  return [onInterrupted(found.call, found.turn)]
}

/** How an owner releases its conversation: `park` when there is nothing to do, `hand_over` so that another process continues, or any process after a pause. */
export type LettingGo = 'park' | 'hand_over' | { readonly inMs: number }

export function lettingGo(how: LettingGo): Pick<Change, 'wakeAt' | 'lease'> {
  const wakeAt = typeof how === 'object' ? how : how === 'park' ? null : 'now'
  return { wakeAt, lease: 'release' }
}

type LifecycleSnapshot = {
  /** Must be called when the commit is durable. */
  persist(workingSet: WorkingSet): Promise<void>
  /** Must be called in any case: until then the channel holds back the committed events. */
  announce(): void
}

/** Begun before a commit that the app wants a snapshot of: first durable, then persisted, then announced. Null when it wants none. */
export function lifecycleSnapshot(
  { node: { snapshots }, ref, agent, scopes, store, channel }: TurnContext,
  events: readonly NewEvent[],
  before: ConversationState,
  after: ConversationState,
): LifecycleSnapshot | null {
  const moment = snapshots && lifecycleOf(events, before, after)
  if (!snapshots || !moment) return null
  const { lifecycle, turnId } = moment
  return {
    persist: (workingSet) =>
      snapshots.persist(lifecycle, { agentId: agent.name, conversationId: ref.id, workingSet, scopes, store, turnId }),
    announce: channel.hold(),
  }
}

/** Why a snapshot is taken, and of whose turn. */
type Moment = { readonly lifecycle: Lifecycle; readonly turnId: string }

/** The moment that a commit is; null when no snapshot is taken. What waits for a child agent only is not interrupted: the child may be. */
export function lifecycleOf(
  events: readonly NewEvent[],
  before: ConversationState,
  after: ConversationState,
): Moment | null {
  const ended = events.findLast((event) => event.type === 'turn_ended')?.content
  if (ended) return { lifecycle: ofEnd[ended.status], turnId: ended.turnId }
  const open = openTurn(after)
  if (!open || !waitsForAnswer(after)) return null
  const isNews = events.some((event) => event.type === 'suspension' && event.content.kind !== 'sub_agent')
  return isNews || !waitsForAnswer(before) ? { lifecycle: 'on_interrupt', turnId: open.turnId } : null
}

const ofEnd: { readonly [Status in TurnStatus]: Lifecycle } = {
  completed: 'on_completion',
  halted: 'on_completion',
  cancelled: 'on_cancel',
  failed: 'on_error',
}

function waitsForAnswer(state: ConversationState): boolean {
  return phaseOf(state) === 'awaiting_input' && pendingItems('', state).length > 0
}
