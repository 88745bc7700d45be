import type { Clock } from '../../base/clock.ts'
import { PerdureError } from '../../base/errors/perdure-error.ts'
import { StoreError } from '../../base/errors/store-errors.ts'
import { failpoint } from '../../base/failpoint.ts'
import { tentative } from '../../log/decide.ts'
import type { LogEvent, NewEvent } from '../../log/events.ts'
import { fsmStateOf, type Standing, saysTheSame, standingOf } from '../../log/fsm-state.ts'
import type { Step } from '../../log/next-step.ts'
import type { Outcome } from '../../log/settle.ts'
import { type CallState, type ConversationState, findCall, openTurn } from '../../log/state.ts'
import { remember } from '../../prompt/assemble-prompt.ts'
import { type CommitResult, changeFor, placedEvents } from '../../store/change.ts'
import { type Lease, retryUntilAnswered } from '../../store/lease.ts'
import type { TenantStore } from '../../store/store.ts'
import { caughtUp, loadWhole, type WorkingSet, type WorkingSets, withEvents } from '../../store/working-sets.ts'
import { ChildCalls } from '../child/child-calls.ts'
import type { ModelGate } from '../limits/model-gate.ts'
import type { Channel } from '../live/channel.ts'
import { LogOwner } from '../log-owner.ts'
import { type MissingScope, ScopeCheck } from './missing-scope.ts'
import { RunningModel } from './model-task.ts'
import { ObservedTurns } from './observed-turns.ts'
import { PauseCheck } from './pause-check.ts'
import {
  handOverEvents,
  type LettingGo,
  lettingGo,
  lifecycleSnapshot,
  PendingOutcomes,
  RefusedCommits,
  RowGuards,
} from './pending-outcomes.ts'
import { MissingTools, RunningCalls } from './running-calls.ts'
import { StateUpdates } from './settle-state.ts'
import { runCall } from './tool-task.ts'
import type { TurnContext } from './turn-context.ts'

/** Owns one conversation: its folded log, and what runs for it. Used by `drive` alone. */
export class Owner extends LogOwner {
  readonly #context: TurnContext
  readonly #store: TenantStore
  readonly #channel: Channel
  readonly #workingSets: WorkingSets
  readonly #pending: PendingOutcomes
  readonly #running = new RunningCalls({
    result: (outcome) => this.#take(outcome),
    crashed: (error) => this.#crashed(error),
  })
  readonly #model: RunningModel
  readonly #detach: () => unknown
  readonly children: ChildCalls
  readonly missingTools: MissingTools
  readonly pauses: PauseCheck
  /** Null if the application has no function that rebuilds scopes, because then none can be missing. */
  readonly scopes: ScopeCheck | null
  #workingSet: WorkingSet
  #cached: Standing | null
  /** Null for an agent without state. */
  readonly #stateUpdates: StateUpdates | null
  /** Null for an agent without an account. */
  readonly gate: ModelGate | null
  readonly #guards = new RowGuards()
  readonly #refusedCommits = new RefusedCommits()
  readonly #observed: ObservedTurns | null
  #isClosing = false
  #interrupted: readonly string[] = []

  /** `cached`: what the row says of its state, where that is known. Only the owner writes it under this lease. */
  constructor(context: TurnContext, lease: Lease, workingSet: WorkingSet, cached: Standing | null) {
    super(context, lease, 'conversation')
    this.#context = context
    this.#pending = new PendingOutcomes(context.node.redact)
    this.#stateUpdates = context.agent.state ? new StateUpdates(context) : null
    this.scopes = context.scopes.canFail ? new ScopeCheck(context) : null
    this.#store = context.store
    this.#channel = context.channel
    this.#workingSets = context.node.workingSets
    this.#cached = cached
    this.#workingSet = remember(context.memory, { ...workingSet, agent: context.agent.name })
    const loop = { state: () => this.state, submit: (outcome: Outcome) => this.#submit(outcome) }
    this.#model = new RunningModel(context, loop, {
      outcome: (outcome) => this.#take(outcome),
      postponed: (inMs) => {
        this.gate?.postpone(inMs)
        this.signal.set()
      },
      crashed: (error) => this.#crashed(error),
    })
    this.gate = context.node.modelGates?.of(context.agent, context.ref) ?? null
    this.#observed = context.node.observer && new ObservedTurns(context, context.node.observer, workingSet.state)
    this.#detach = context.channel.attach(() => this.#workingSet, lease.epoch)
    this.children = new ChildCalls(context.family, context.agent.name)
    this.pauses = new PauseCheck(context)
    this.missingTools = new MissingTools(context.ref, context.agent, context.node.toolTimeouts)
  }

  get state(): ConversationState {
    return this.#workingSet.state
  }

  override get lastSeq(): number {
    return this.state.lastSeq
  }

  get isClosing(): boolean {
    return this.#isClosing
  }

  get clock(): Clock {
    return this.#context.node.clock
  }

  running(): ReadonlySet<string> {
    return this.#running.ids()
  }

  outcomes(): Outcome[] {
    return this.#pending.outcomes()
  }

  /** The outcomes as they are settled: with what tools set, computed on the state as it is known here. Asked only when `setsState`. */
  withState(outcomes: readonly Outcome[]): Promise<Outcome[]> {
    return this.#stateUpdates!.settled(this.state, outcomes)
  }

  get setsState(): boolean {
    return this.#stateUpdates !== null && !this.#stateUpdates.isEmpty
  }

  /** The outcomes are in the log, or have no place in it any more. */
  forget(outcomes: readonly Outcome[]): void {
    for (const outcome of outcomes) {
      if (outcome.type !== 'result') continue
      this.#running.forget(outcome.callId)
      this.#stateUpdates?.forget(outcome.callId)
    }
    this.#pending.settle(outcomes)
  }

  /** Something has happened that the loop has not decided on. */
  get hasNews(): boolean {
    return (
      this.isLost || !this.#pending.isEmpty || this.gate?.isPostponed === true || this.reading.isHinted(this.lastSeq)
    )
  }

  async changed(): Promise<void> {
    await this.signal.wait()
  }

  /** Reads the log when it has grown, or after a while. */
  async readNext(withinMs: number): Promise<void> {
    const callOff = this.clock.after(withinMs, () => this.signal.set())
    if (!this.isLost && !this.reading.isHinted(this.lastSeq)) await this.signal.wait()
    callOff()
    this.reading.demand()
    await this.catchUp()
  }

  /** The store has failed, or others have appended: the log must be read before anything is decided. */
  get isBehind(): boolean {
    return this.reading.isDue(this.lastSeq) || this.reading.waitMs > 0
  }

  /** Rejects when the log has an event that cannot be folded here. */
  async catchUp(): Promise<void> {
    await this.reading.pause()
    if (!this.reading.isDue(this.lastSeq)) return
    const { id } = this.#context.ref
    try {
      await this.reading.run(async () =>
        this.#accept((await caughtUp(this.#store, id, this.#workingSet)) ?? (await loadWhole(this.#store, id))),
      )
    } catch (error) {
      // Nothing can be decided past an event that cannot be folded.
      if (PerdureError.isInstance(error) && error.code.startsWith('event_')) throw error
      this.storeFailed(error, 'reading the log failed')
    }
  }

  /**
   * One transaction: the events, the rows that go with them, the cached state, and the release: `park` when there is nothing to do, `hand_over`
   * so that another process continues.
   */
  async commit(events: readonly NewEvent[], after: ConversationState, lets: 'go_on' | LettingGo): Promise<boolean> {
    const { id } = this.#context.ref
    const expectedSeq = this.state.lastSeq
    const parks = lets === 'park'
    const isCached = lets === 'go_on' && this.#cached !== null && saysTheSame(this.#cached, standingOf(after))
    const fsmState = isCached ? null : fsmStateOf(after)
    const change = {
      ...this.#guards.guarded(changeFor(events, after)),
      ...(fsmState ? { fsmState } : {}),
      ...(lets === 'go_on' ? {} : lettingGo(lets)),
    }
    const snapshot = lifecycleSnapshot(this.#context, events, this.state, after)
    failpoint(parks ? 'owner.before_park' : 'owner.before_commit')
    const result = await this.commitUnderLease(change)
    if (!result.ok) {
      snapshot?.announce()
      if (result.conflict === 'failed') await this.#commitFailed(result.error, events)
      else await this.#commitRefused(result)
      return false
    }
    this.#refusedCommits.committed()
    this.#guards.trust()
    if (fsmState) this.#cached = fsmState
    // Durable from here: a crash finds these events, and the calls they start are found interrupted unless their results are too.
    failpoint(parks ? 'owner.after_park' : 'owner.after_commit')
    const placed = placedEvents(id, events, expectedSeq, result)
    if (!placed) this.reading.demand()
    while (!placed && this.reading.isDemanded && !this.isLost) await this.catchUp()
    const workingSet = placed ? withEvents(this.#workingSet, placed) : this.#workingSet
    if (snapshot) await snapshot.persist(workingSet)
    if (placed) this.#accept(workingSet, placed)
    snapshot?.announce()
    this.#observed?.committed(placed, events, after, parks)
    this.#startCalls(events)
    if (parks) this.#detach()
    return true
  }

  async #commitRefused({ conflict, lastSeq }: Extract<CommitResult, { ok: false }>): Promise<void> {
    if (conflict === 'stale') {
      await this.attempt('reading the rows of calls failed', () => this.#guards.distrust(this.#context))
    }
    this.#channel.hint(lastSeq)
  }

  callModel(step: Extract<Step, { type: 'model' }>): void {
    // The lease may have been lost while the log was read, and then its holder calls the model.
    if (this.isLost) return
    this.pauses.begins(step.turnId)
    this.#model.start(step, this.gate)
  }

  get isCallingModel(): boolean {
    return this.#model.isRunning
  }

  /** Answers `cancel_requested`: aborts what runs, and adds a cancel, with the rest of the message, to the pending outcomes. */
  async stop(turnId: string): Promise<void> {
    this.#running.abort()
    this.#pending.replaceCancel({ type: 'cancel', turnId, ...(await this.#model.cutOff()) })
  }

  protected override stopAll(): void {
    this.scopes?.leave()
    this.#abortAll()
    this.#pending.drop()
    const { tenant, id } = this.#context.ref
    this.#workingSets.drop(tenant, id)
    this.#detach()
  }

  /** The process ends: running work is aborted, and the loop hands over. Results from now on are those of aborted work and are ignored. */
  override async close(): Promise<void> {
    if (this.isLost || this.#isClosing) return
    this.#isClosing = true
    this.scopes?.leave()
    this.#interrupted = [...this.#running.ids()].filter((callId) => !this.#pending.hasResult(callId))
    this.#abortAll()
    this.signal.set()
  }

  /**
   * The model was stopped without a trace; what was started and is not finished is recorded as its tool says, so that the next owner does not
   * have to guess. The conversation stays due.
   */
  async release(): Promise<void> {
    const outcomes = this.setsState ? await this.withState(this.outcomes()) : this.outcomes()
    const events = handOverEvents(this.state, outcomes, this.#interrupted)
    const after = withEvents(this.#workingSet, tentative(events, this.state.lastSeq)).state
    const isDone = await this.commit(events, after, 'hand_over')
    // A store that fails is not waited for now: the lease lapses, and the next owner finds what was started.
    if (isDone || this.reading.waitMs > 0) this.loseLease()
  }

  /** Records that the turn waits for a scope, and releases it until the next try. */
  async waitForScope(missing: MissingScope): Promise<void> {
    const wait = this.scopes!.wait(missing, this.state)
    const after = withEvents(this.#workingSet, tentative(wait.events, this.state.lastSeq)).state
    if (!(await this.commit(wait.events, after, { inMs: wait.inMs }))) return
    // Durable from here: the turn waits, and a process that can rebuild the scope continues it.
    this.scopes!.hasLeft(missing, wait)
    this.loseLease()
  }

  #abortAll(): void {
    this.#running.clear()
    void this.#model.stop()
    this.#context.live.withdraw(this.state.lastSeq)
  }

  /** Resolves when the outcome is in the log; false when it has no place there. */
  #submit(outcome: Outcome): Promise<boolean> {
    if (this.isLost) return Promise.resolve(false)
    return new Promise((resolve) => this.#take(outcome, resolve))
  }

  #take(outcome: Outcome, settled?: (isCommitted: boolean) => void): void {
    if (this.isLost) return
    this.#pending.add(outcome, settled)
    this.signal.set()
  }

  #startCalls(events: readonly NewEvent[]): void {
    const started = events.filter((event) => event.type === 'tool_started')
    if (started.length > 0)
      this.#context.live.emit({ type: 'phase_changed', phase: 'executing_tools' }, this.state.lastSeq)
    for (const { content } of started) {
      const found = findCall(this.state, content.callId)
      if (found) this.#startCall(found.call, content.attempt, found.turn.turnId)
    }
  }

  #startCall(call: CallState, attempt: number, turnId: string): void {
    if (this.isLost) return
    const { callId } = call
    if (this.#isClosing) {
      const result = { ok: false as const, error: 'the process was about to end: it was not run' }
      if (call.ifInterrupted !== 'rerun') this.#take({ type: 'result', callId, attempt, result })
      return
    }
    const turn = this.state.turns.findLast((candidate) => candidate.turnId === turnId)!
    const run = async (signal: AbortSignal) => {
      const mayStart = () => retryUntilAnswered(this.lease, this.clock, () => this.isLost || signal.aborted)
      const ran = await runCall(call, turn, this.#context, { signal, state: () => this.state, mayStart })
      if (ran.outcome.result.ok) this.#stateUpdates?.add(callId, ran.updates)
      return ran.outcome
    }
    this.#running.start(callId, attempt, run)
  }

  #accept(workingSet: WorkingSet, events?: readonly LogEvent[]): void {
    const { memory } = this.#context
    const { tenant, id } = this.#context.ref
    this.#workingSet = remember(memory, workingSet)
    const { state } = this.#workingSet
    this.#workingSets.keep(tenant, id, this.#workingSet)
    if (events) this.#channel.publish(events)
    // A watcher that began with this node's state learns of it in no other way.
    else this.#channel.hint(state.lastSeq)
    this.#running.abortEnded(state)
    this.#model.stopUnlessFor(openTurn(state)?.turnId ?? null)
  }

  /**
   * The store failed, and the commit may have been made. The log tells; outcomes are settled again on it. A call whose start is in the log
   * under our epoch was started by us and is run now, else it would be taken for interrupted.
   */
  async #commitFailed(error: unknown, events: readonly NewEvent[]): Promise<void> {
    if (PerdureError.isInstance(error) && !error.retryable) {
      this.#refused(error)
      return
    }
    this.storeFailed(error, 'a commit failed')
    const isAmbiguous = error instanceof StoreError && error.ambiguous
    if (!isAmbiguous || !events.some((event) => event.type === 'tool_started')) return
    do {
      while (this.reading.isDemanded && !this.isLost) await this.catchUp()
      if (this.isLost) return
      // Confirmed again until the store answers.
    } while (!(await this.attempt('checking the lease failed', () => this.confirmLease())) || this.isLost)
    const ours = events.filter(
      (event) =>
        event.type === 'tool_started' &&
        findCall(this.state, event.content.callId)?.call.attempts === event.content.attempt,
    )
    this.#startCalls(ours)
  }

  protected override storeFailed(error: unknown, what: string): void {
    this.#cached = null
    if (!PerdureError.isInstance(error) || error.code !== 'store_closed') return super.storeFailed(error, what)
    const { node, ref } = this.#context
    this.reading.hasFailed(error)
    node.logger.error('the store is closed: releasing a conversation', { ...ref, error })
    this.loseLease()
  }

  /** The store will never accept it (too large, not JSON): the turn fails and says so. If the store accepts not even that, the conversation is released. */
  #refused(error: PerdureError): void {
    const { node, ref } = this.#context
    const isOver = error.code === 'store_closed' || error.code === 'conversation_not_found'
    const instead = isOver ? [] : this.#refusedCommits.instead(error, this.outcomes(), openTurn(this.state))
    node.logger.error('a commit was refused', { ...ref, error })
    if (isOver) return this.loseLease()
    this.#pending.drop()
    for (const outcome of instead) this.#take(outcome)
  }

  #crashed(error: unknown): void {
    const { node, ref } = this.#context
    node.logger.error('a task failed unexpectedly', { ...ref, error })
    this.#model.forget()
    const turn = openTurn(this.state)
    if (turn) this.#take({ type: 'end', turnId: turn.turnId, status: 'failed', reason: 'internal_error' })
  }
}
