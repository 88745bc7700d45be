import { randomUUID } from 'node:crypto'
import type { Clock } from '../clock/clock.ts'
import { PerdureError } from '../errors/perdure-error.ts'
import type { FlowOp, FlowOutcome, NewEvent } from '../log/events.ts'
import type { Json } from '../log/json.ts'
import type { Logger } from '../logger/logger.ts'
import type { CommitResult } from '../store/change.ts'
import type { TenantStore } from '../store/store.ts'
import { normaliseValue as recordable } from '../tool/normalise-result.ts'
import type { AgentAnswer, Flow } from './define-flow.ts'
import { FlowRun, type LiveOp, type Standstill } from './flow-run.ts'
import { type FlowState, foldFlow, openOps } from './flow-state.ts'

export type FlowContext = {
  readonly tenant: string
  readonly id: string
  readonly flow: Flow
  readonly store: TenantStore
  readonly clock: Clock
  readonly logger: Logger
  /** Sends the message once, whoever asks and however often, and tells how its turn ended; null while it has not. */
  readonly askAgent: (op: Extract<FlowOp, { kind: 'agent' }>, key: string) => Promise<AgentAnswer | null>
}

/** How often an agent's turn is looked at, when nothing else wakes the session. */
const agentPollMs = 1_000

type Result = FlowOutcome

/**
 * This process's hold on one session. Replays it, runs what it asks for, and records what came of that, until it waits for somebody, sleeps or
 * has ended. What is to be run is in the log before it runs.
 */
export class FlowOwner {
  readonly #context: FlowContext
  readonly #epoch: number
  readonly #running = new Map<number, AbortController>()
  #state: FlowState
  #run: FlowRun
  #delivered = 0
  #inHand: Result[] = []
  #wake: (() => void) | null = null
  #hintedSeq = 0
  #isLost = false

  constructor(context: FlowContext, epoch: number, state: FlowState) {
    this.#context = context
    this.#epoch = epoch
    this.#state = state
    this.#run = new FlowRun(context.id, context.flow, state)
  }

  get lastSeq(): number {
    return this.#state.lastSeq
  }

  get isLost(): boolean {
    return this.#isLost
  }

  hint(seq: number): void {
    this.#hintedSeq = Math.max(this.#hintedSeq, seq)
    this.#wake?.()
  }

  lose(): void {
    this.#isLost = true
    for (const controller of this.#running.values()) controller.abort()
    this.#wake?.()
  }

  /** The process ends: steps that run are told to stop and stay open in the log; whoever goes on decides by their `ifInterrupted`. */
  async close(): Promise<void> {
    if (this.#isLost) return
    this.lose()
    await this.#context.store.releaseLease(this.#context.id, this.#epoch)
  }

  /** Throws `DeterminismError` when code and record differ; nothing has been written then. */
  async drive(): Promise<void> {
    let standstill = await this.#replayed()
    while (!this.#isLost) {
      if (this.#hintedSeq > this.lastSeq) {
        await this.#catchUp()
        standstill = await this.#deliverNew(standstill)
        continue
      }
      const events = await this.#decide(standstill)
      const parks = this.#running.size === 0 && isSettled(standstill, this.#state, events)
      if (events.length > 0 || parks) {
        const isCommitted = await this.#commit(events, parks)
        if (isCommitted && parks) return
        if (!isCommitted) this.#hintedSeq = Math.max(this.#hintedSeq, this.lastSeq + 1)
        else if (standstill.type === 'continued') standstill = await this.#replayed()
        else standstill = await this.#deliverNew(standstill)
        continue
      }
      if (standstill.type === 'blocked') this.#startSteps(standstill.ops)
      if (this.#inHand.length === 0 && this.#hintedSeq <= this.lastSeq) await this.#changed()
    }
  }

  async #replayed(): Promise<Standstill> {
    this.#run = new FlowRun(this.#context.id, this.#context.flow, this.#state)
    this.#delivered = this.#state.outcomes.length
    return await this.#run.replay(this.#state.input)
  }

  async #deliverNew(standstill: Standstill): Promise<Standstill> {
    let stands = standstill
    for (const outcome of this.#state.outcomes.slice(this.#delivered)) {
      stands = await this.#run.deliver(outcome)
      this.#delivered += 1
    }
    return stands
  }

  /** What is to be recorded now: the end, operations that are new, and outcomes that are there. */
  async #decide(standstill: Standstill): Promise<NewEvent[]> {
    if (standstill.type === 'done') return [ended(recordable(standstill.result))]
    if (standstill.type === 'failed')
      return [{ type: 'flow_ended', content: { status: 'failed', error: textOf(standstill.error) } }]
    if (standstill.type === 'continued') {
      return [{ type: 'flow_continued', content: { version: this.#context.flow.version, input: standstill.input } }]
    }
    const known = new Set(this.#state.ops.map(({ position }) => position))
    const events: NewEvent[] = []
    for (const { position, op } of standstill.ops) {
      if (!known.has(position)) events.push({ type: 'flow_opened', content: { position, op } })
      const outcome = await this.#outcomeOf(position, op, known.has(position))
      if (outcome) events.push({ type: 'flow_outcome', content: outcome })
    }
    return events
  }

  async #outcomeOf(position: number, op: FlowOp, wasOpened: boolean): Promise<FlowOutcome | null> {
    const inHand = this.#inHand.find((result) => result.position === position)
    if (inHand) return inHand
    switch (op.kind) {
      case 'now':
        return { position, ok: true, value: this.#context.clock.now() }
      case 'random':
        return { position, ok: true, value: Math.random() }
      case 'uuid':
        return { position, ok: true, value: randomUUID() }
      case 'sleep':
        return wasOpened && this.#remainingMs(position, op) === 0 ? { position, ok: true, value: null } : null
      case 'agent':
        return wasOpened ? await this.#askAgent(position, op) : null
      case 'step': {
        const isInterrupted = wasOpened && !this.#running.has(position) && op.ifInterrupted === 'report'
        return isInterrupted
          ? { position, ok: false, error: `step '${op.name}' was interrupted; its outcome is unknown` }
          : null
      }
      default:
        return null
    }
  }

  async #askAgent(position: number, op: Extract<FlowOp, { kind: 'agent' }>): Promise<FlowOutcome | null> {
    try {
      const answer = await this.#context.askAgent(op, this.#keyOf(position))
      return answer ? { position, ok: true, value: answer as unknown as Json } : null
    } catch (error) {
      // What will not get better by waiting is the flow's to handle.
      if (PerdureError.isInstance(error) && !error.retryable) return { position, ok: false, error: error.message }
      throw error
    }
  }

  /** Steps whose start is in the log and that do not run yet. */
  #startSteps(ops: readonly LiveOp[]): void {
    for (const { position, op, run } of ops) {
      const isOpened = this.#state.ops.some((opened) => opened.position === position)
      if (op.kind !== 'step' || !run || !isOpened || this.#running.has(position) || this.#isLost) continue
      const controller = new AbortController()
      this.#running.set(position, controller)
      const step = { id: this.#keyOf(position), signal: controller.signal }
      Promise.resolve()
        .then(() => run(step))
        .then(
          (value) => this.#take({ position, ...recordedOutcome(value) }),
          (error: unknown) => this.#take({ position, ok: false, error: textOf(error) }),
        )
    }
  }

  #take(outcome: FlowOutcome): void {
    if (this.#isLost) return
    this.#inHand.push(outcome)
    this.#wake?.()
  }

  async #commit(events: readonly NewEvent[], parks: boolean): Promise<boolean> {
    const { store, id } = this.#context
    const letGo = parks ? { wakeAt: this.#wakeAt(events), lease: 'release' as const } : {}
    const status = statusAfter(events, parks)
    const conversation = status ? { conversation: { status } } : {}
    const expectedSeq = this.lastSeq
    const result: CommitResult = await store.commit(id, {
      events,
      expectedSeq,
      epoch: this.#epoch,
      ...conversation,
      ...letGo,
    })
    if (!result.ok) {
      if (result.conflict === 'epoch') this.lose()
      return false
    }
    // Durable from here: a crash finds which steps were begun and what is known of them.
    if (events.length > 0) await this.#catchUp()
    for (const event of events) {
      if (event.type !== 'flow_outcome') continue
      this.#running.delete(event.content.position)
      this.#inHand = this.#inHand.filter((result) => result.position !== event.content.position)
    }
    return true
  }

  #wakeAt(events: readonly NewEvent[]): { inMs: number } | null {
    if (events.some((event) => event.type === 'flow_ended')) return null
    const opened = events.flatMap((event) =>
      event.type === 'flow_opened' ? [{ ...event.content, at: this.#context.clock.now() }] : [],
    )
    const waits = [...openOps(this.#state), ...opened].flatMap(({ position, op }) => {
      if (op.kind === 'sleep') return [this.#remainingMs(position, op)]
      return op.kind === 'agent' ? [agentPollMs] : []
    })
    return waits.length === 0 ? null : { inMs: Math.min(...waits) }
  }

  #remainingMs(position: number, { ms }: Extract<FlowOp, { kind: 'sleep' }>): number {
    const at = this.#state.ops.find((opened) => opened.position === position)?.at ?? this.#context.clock.now()
    return Math.max(0, at + ms - this.#context.clock.now())
  }

  async #catchUp(): Promise<void> {
    const { store, id } = this.#context
    const folded = foldFlow(await store.streamEvents(id, { after: this.lastSeq }), this.#state)
    if (folded) this.#state = folded
    else this.lose()
    if (this.#hintedSeq > this.lastSeq) this.#hintedSeq = this.lastSeq
  }

  #keyOf(position: number): string {
    return `${this.#context.id}/${this.#state.generation}/${position}`
  }

  async #changed(): Promise<void> {
    const agents = openOps(this.#state).some(({ op }) => op.kind === 'agent')
    await new Promise<void>((resolve) => {
      const cancel = agents ? this.#context.clock.after(agentPollMs, resolve) : () => {}
      this.#wake = () => {
        cancel()
        resolve()
      }
    })
    this.#wake = null
  }
}

/** Whether nothing can go on here: it has ended, or waits for somebody, for a time, or for an agent. */
function isSettled(standstill: Standstill, state: FlowState, events: readonly NewEvent[]): boolean {
  if (standstill.type === 'done' || standstill.type === 'failed') return true
  if (standstill.type === 'continued') return false
  const settledNow = new Set(events.flatMap((event) => (event.type === 'flow_outcome' ? [event.content.position] : [])))
  if (settledNow.size > 0) return false
  const known = new Set(state.ops.map(({ position }) => position))
  return standstill.ops.every(({ position, op }) => {
    if (op.kind === 'suspend' || op.kind === 'request' || op.kind === 'sleep') return true
    return op.kind === 'agent' && known.has(position)
  })
}

function statusAfter(events: readonly NewEvent[], parks: boolean): 'ended' | 'suspended' | null {
  if (events.some((event) => event.type === 'flow_ended')) return 'ended'
  return parks ? 'suspended' : null
}

function ended(outcome: ReturnType<typeof recordable>): NewEvent {
  if (outcome.ok) return { type: 'flow_ended', content: { status: 'done', result: outcome.value } }
  return {
    type: 'flow_ended',
    content: { status: 'failed', error: `its result cannot be recorded: ${outcome.problem}` },
  }
}

function recordedOutcome(value: unknown): { ok: true; value: Json } | { ok: false; error: string } {
  const outcome = recordable(value)
  return outcome.ok ? outcome : { ok: false, error: `it ran, but its result cannot be recorded: ${outcome.problem}` }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
