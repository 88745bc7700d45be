import { randomUUID } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { PerdureError } from '../../base/errors/perdure-error.ts'
import { failpoint } from '../../base/failpoint.ts'
import type { Json } from '../../base/json.ts'
import { tentative } from '../../log/decide.ts'
import type { LogEvent, NewEvent } from '../../log/events.ts'
import { isQuestion } from '../../log/flow-questions.ts'
import { type CommitResult, placedEvents } from '../../store/change.ts'
import { flowCall } from '../../store/flow-call.ts'
import { type Lease, retryUntilAnswered } from '../../store/lease.ts'
import type { ConversationAttrs, ConversationRef, ToolCallWrite } from '../../store/records.ts'
import type { TenantStore } from '../../store/store.ts'
import { LogOwner } from '../log-owner.ts'
import type { EngineNode } from '../node.ts'
import type { Observer } from '../observer.ts'
import { decideFlow, type FlowDecision, type FlowHand, nextDueMs } from './decide-flow.ts'
import { checkFlowInput } from './flow-registry.ts'
import { FlowRun, type Standstill } from './flow-run.ts'
import {
  answerableOps,
  type FlowState,
  foldFlow,
  openOps,
  operationId,
  parkedStatus,
  redactFlowEvent,
  writeSentMessages,
} from './flow-state.ts'
import { type LoadedFlow, putAway } from './load-flow.ts'
import { type AskAgent, RunningOps, StoreTime } from './running-ops.ts'

/** What one session works with. */
export type FlowContext = {
  readonly node: Pick<EngineNode, 'flows' | 'clock' | 'logger' | 'warnOfStore' | 'redact' | 'observer'>
  readonly ref: ConversationRef
  /** The store of the session's tenant. */
  readonly store: TenantStore
  readonly askAgent: AskAgent
}

const nothing: FlowDecision = { events: [], parks: false, wakeInMs: null }

/** Owns one session: its record, its running code, and the steps that run for it. Used by `driveFlow` alone. */
export class FlowOwner extends LogOwner {
  readonly #context: FlowContext
  readonly #time: StoreTime
  #state: FlowState
  #summarisedTo: number
  #lastAt: number | null
  #run: FlowRun | null = null
  #standstill: Standstill | null = null
  /** How many of the record's outcomes the code has been given. */
  #given = 0
  #ops: RunningOps
  #mustProve = false
  #dueInMs: number | null = null
  /** Whether lists already show it as running; until then they show the status it was released with. */
  #isActive = false
  readonly #heldFrom: number
  /** Something was committed since the session was taken up. */
  #hasWritten = false

  /** `sent`: messages to agents that are known to be in their logs. */
  constructor(
    context: FlowContext,
    lease: Lease,
    { state, summarisedTo, lastAt }: LoadedFlow,
    sent: ReadonlySet<string> = new Set(),
  ) {
    super(context, lease, 'session')
    this.#context = context
    this.#time = new StoreTime(context.node.clock)
    this.#state = state
    this.#summarisedTo = summarisedTo
    this.#lastAt = lastAt
    this.#heldFrom = state.lastSeq
    this.#ops = this.#newOps(sent)
  }

  override get lastSeq(): number {
    return this.#state.lastSeq
  }

  /** What it knows of the session, for the next owner or reader. */
  get loaded(): LoadedFlow {
    return { state: this.#state, summarisedTo: this.#summarisedTo, lastAt: this.#lastAt }
  }

  /** After its release: how soon it is due again; null if it is not due by itself. */
  get dueInMs(): number | null {
    return this.#dueInMs
  }

  protected override stopAll(): void {
    this.#ops.abort()
  }

  /** The process ends: running steps are aborted and stay open in the log. The next owner decides by their `ifInterrupted`. */
  override async close(): Promise<void> {
    if (this.isLost) return
    this.loseLease()
    await this.#context.store.releaseLease(this.#context.ref.id, this.lease.epoch)
  }

  /** Reads what others appended, and brings the code to where the record is. */
  async catchUp(): Promise<void> {
    await this.reading.pause()
    if (this.isLost) return
    if (this.reading.isDue(this.lastSeq)) await this.#read()
    if (!this.isLost) await this.#bringCodeUp()
  }

  async decide(): Promise<FlowDecision> {
    const { events, ...decision } = await this.#decide()
    return { ...decision, events: events.map((event) => redactFlowEvent(event, this.#context.node.redact)) }
  }

  async #decide(): Promise<FlowDecision> {
    const standstill = this.#standstill!
    if (this.#mustAskTime()) await this.#askTime()
    if (this.isLost || this.reading.waitMs > 0) return nothing
    if (standstill.type !== 'continued') {
      const decision = decideFlow(standstill, this.#state, this.#hand())
      if (decision.wakeInMs === null || this.#time.isKnown) return decision
      await this.#askTime()
      return this.#time.isKnown ? decideFlow(standstill, this.#state, this.#hand()) : nothing
    }
    const { node, ref } = this.#context
    try {
      const flow = node.flows.find(this.#state.flow)
      const input = await checkFlowInput(flow, standstill.input)
      const continued: NewEvent = { type: 'flow_continued', content: { version: flow.version, input } }
      return { events: [continued], parks: false, wakeInMs: null }
    } catch (error) {
      node.logger.warn('a flow gave continueAs an input that it cannot continue with', { id: ref.id, error })
      return decideFlow({ type: 'failed', error }, this.#state, this.#hand())
    }
  }

  /** One transaction: the events, the status, and, when it parks, letting go. */
  async commit({ events, parks, wakeInMs }: FlowDecision): Promise<boolean> {
    const wakeAt = wakeInMs === null ? null : { inMs: wakeInMs }
    const after = parks ? foldFlow(tentative(events, this.lastSeq), this.#state) : null
    for (const event of events) if (event.type === 'flow_opened') this.#ops.opens(event.content.position)
    failpoint(parks ? 'flow.before_park' : 'flow.before_commit')
    const parking = after ? { conversation: this.#attrsAt(after), wakeAt, lease: 'release' as const } : this.#woken()
    const result = await this.commitUnderLease({ events, ...parking, ...this.#questionRows(events) })
    if (!result.ok) {
      if (result.conflict === 'failed') this.#commitFailed(result.error)
      return false
    }
    // Durable from here: a crash finds which operations were begun and what is known of them.
    failpoint(parks ? 'flow.after_park' : 'flow.after_commit')
    this.#time.heard(result)
    this.#dueInMs = wakeInMs
    this.#isActive = true
    if (this.#context.node.observer) this.#tell(this.#context.node.observer, events, result, parks)
    if (parks) this.loseLease()
    else await this.#accept(events, result)
    return true
  }

  #tell(
    observer: Observer,
    events: readonly NewEvent[],
    result: Extract<CommitResult, { ok: true }>,
    parks: boolean,
  ): void {
    const { ref, store } = this.#context
    const { flow: name, lastSeq } = this.#state
    const placed = placedEvents(ref.id, events, lastSeq, result)
    if (placed && placed.length > 0) observer.observe({ type: 'committed', ref, name, events: placed })
    this.#hasWritten ||= events.length > 0
    const hasEnded = events.some(({ type }) => type === 'flow_ended')
    if (!this.#hasWritten || !(parks || hasEnded)) return
    this.#hasWritten = false
    const ends = { firstSeq: 1, lastSeq: lastSeq + events.length, heldFrom: this.#heldFrom }
    observer.observe({ type: 'rested', ref, name, turnId: null, ...ends, store })
  }

  /** Begins with what is open in the log and does not run yet: steps, and messages to agents. */
  async actOnOpened(): Promise<void> {
    if (this.#mustProve && this.reading.waitMs === 0) await this.#prove()
    const standstill = this.#standstill
    if (this.isLost || this.#mustProve || standstill?.type !== 'blocked') return
    for (const live of standstill.ops) {
      const opened = this.#state.ops[live.position - 1]
      if (opened) this.#ops.begin(live, opened, this.#state.who)
    }
  }

  /** Until a step or an agent has answered, the log has grown, or something is due. */
  async changed(): Promise<void> {
    if (this.isLost || this.reading.isHinted(this.lastSeq) || this.reading.waitMs > 0) return
    const dueMs = nextDueMs(openOps(this.#state), this.#time.now())
    const due = (): void => {
      this.#ops.lookAgain()
      this.signal.set()
    }
    const callOff = dueMs === null ? () => {} : this.#context.node.clock.after(dueMs, due)
    await this.signal.wait()
    callOff()
  }

  #hand(): FlowHand {
    const { node, ref } = this.#context
    return {
      ...this.#ops.hand(),
      now: this.#time.now(),
      draw: (kind) => draw(kind, node.clock),
      newId: (position) => operationId(ref.id, this.#state.generation, position),
    }
  }

  /** No sleep ends by a clock that is only thought to be right. */
  #mustAskTime(): boolean {
    const sleeping = openOps(this.#state).filter(({ op }) => op.kind === 'sleep')
    return sleeping.length > 0 && (!this.#time.isKnown || nextDueMs(sleeping, this.#time.now()) === 0)
  }

  async #askTime(): Promise<void> {
    try {
      const result = await this.confirmLease()
      if (result.ok) this.#time.heard(result)
    } catch (error) {
      this.#commitFailed(error)
    }
  }

  async #read(): Promise<void> {
    const { store, ref } = this.#context
    const read = async () => this.#apply(await store.streamEvents(ref.id, { after: this.lastSeq }))
    await this.attempt('reading the log of a session failed', () => this.reading.run(read))
  }

  async #bringCodeUp(): Promise<void> {
    if (!this.#run) {
      const { node, ref } = this.#context
      const flow = node.flows.replaying(ref.id, this.#state)
      this.#run = new FlowRun(ref.id, flow, this.#state, () => this.signal.set())
      this.#given = this.#state.outcomes.length
      this.#standstill = await this.#run.replay()
      return
    }
    for (const outcome of this.#state.outcomes.slice(this.#given)) {
      await this.#run.deliver(outcome)
      this.#given += 1
    }
    this.#standstill = this.#run.standstill()
  }

  /** With the place and time the store gave them, or as they are read back. */
  async #accept(events: readonly NewEvent[], result: Extract<CommitResult, { ok: true }>): Promise<void> {
    const { node, ref, store } = this.#context
    const placed = placedEvents(ref.id, events, this.lastSeq, result)
    if (!placed) {
      this.reading.demand()
      return
    }
    this.#apply(placed)
    try {
      const loaded = { state: this.#state, summarisedTo: this.#summarisedTo }
      this.#summarisedTo = await putAway(store, ref.id, loaded)
    } catch (error) {
      node.logger.warn('the earlier part of a session could not be summarised', { ...ref, error })
    }
  }

  #apply(events: readonly LogEvent[]): void {
    const { generation } = this.#state
    this.#state = foldFlow(events, this.#state)!
    this.#lastAt = events.at(-1)?.at ?? this.#lastAt
    if (this.#state.ended) this.loseLease()
    if (this.#state.generation !== generation) this.#beginAgain()
    this.#ops.settle(new Set(this.#state.outcomes.map(({ position }) => position)))
  }

  /** A fresh record: positions count from 1 again, and what ran for the old one is of no use. */
  #beginAgain(): void {
    this.#ops.abort()
    this.#ops = this.#newOps()
    this.#run = null
    this.#given = 0
  }

  #newOps(sent: ReadonlySet<string> = new Set()): RunningOps {
    const { node, ref, askAgent } = this.#context
    const { warnOfStore, clock } = node
    const mayStart = (signal: AbortSignal) => retryUntilAnswered(this.lease, clock, () => signal.aborted)
    const wake = () => this.signal.set()
    return new RunningOps({ id: ref.id, warnOfStore, askAgent, mayStart, wake }, new Set(sent))
  }

  #attrsAt(after: FlowState): ConversationAttrs {
    const settings = writeSentMessages(after, this.#ops.sent)
    return { status: parkedStatus(after), ...(settings ? { settings } : {}) }
  }

  #woken(): { readonly conversation?: ConversationAttrs } {
    return this.#isActive ? {} : { conversation: { status: 'active' } }
  }

  /** The rows of the questions in these events, and of the questions that they end without an answer. */
  #questionRows(events: readonly NewEvent[]): { readonly calls?: readonly ToolCallWrite[] } {
    const { id } = this.#context.ref
    const isOver = events.some(({ type }) => type === 'flow_ended' || type === 'flow_continued')
    const left = isOver ? answerableOps(this.#state) : []
    const calls = left.map((opened) => flowCall(id, { ...opened, end: { status: 'cancelled', value: null } }))
    for (const [index, event] of events.entries()) {
      if (event.type !== 'flow_opened' || !isQuestion(event.content.op)) continue
      calls.push(flowCall(id, { seq: this.lastSeq + 1 + index, op: event.content.op }))
    }
    return calls.length > 0 ? { calls } : {}
  }

  /** After a commit that may have been made: what is open under our epoch was opened by us, and is run now. */
  async #prove(): Promise<void> {
    const isAnswered = await this.attempt('checking the lease of a session failed', () => this.confirmLease())
    if (isAnswered) this.#mustProve = false
  }

  #commitFailed(error: unknown): void {
    if (!PerdureError.isInstance(error) || error.retryable) {
      this.#mustProve = true
      this.storeFailed(error, 'a commit of a session failed')
      return
    }
    // Deleted meanwhile, or the process ends. Anything else the store will never take.
    if (error.code !== 'conversation_not_found' && error.code !== 'store_closed') throw error
    this.loseLease()
  }

  /** Rejects the work on the session where trying again does not help. */
  protected override storeFailed(error: unknown, what: string): void {
    if (PerdureError.isInstance(error) && !error.retryable) throw error
    super.storeFailed(error, what)
  }
}

function draw(kind: 'now' | 'random' | 'uuid', clock: Clock): Json {
  if (kind === 'now') return clock.now()
  return kind === 'random' ? Math.random() : randomUUID()
}
