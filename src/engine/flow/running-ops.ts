import { type Clock, monotonic } from '../../base/clock.ts'
import { PerdureError, UserFacingError } from '../../base/errors/perdure-error.ts'
import { failpoint } from '../../base/failpoint.ts'
import type { Json } from '../../base/json.ts'
import type { Logger } from '../../base/logger.ts'
import { errorText } from '../../base/redact/redactor.ts'
import type { AgentAnswer } from '../../define/flow-verbs.ts'
import { normaliseValue } from '../../define/normalise-result.ts'
import type { FlowFailure, FlowOp, FlowOpened, FlowOutcome } from '../../log/events.ts'
import { type FlowHand, returned } from './decide-flow.ts'
import type { LiveOp } from './flow-run.ts'

export type AgentOp = Extract<FlowOp, { kind: 'agent' }>

/**
 * Sends the message once, however often it is asked to, and tells how its turn ended; null while it has not, and then the session is woken
 * when it has. `id` makes it one message. `wasSent`: it is known to have been sent, so that a turn which is not there was deleted; rejects then.
 */
export type AskAgent = (op: AgentOp, id: string, who: string, wasSent: boolean) => Promise<AgentAnswer | null>

type Parts = {
  readonly id: string
  readonly warnOfStore: Logger['warn']
  readonly askAgent: AskAgent
  /** Asked just before a step begins: false, when it was aborted. */
  readonly mayStart: (signal: AbortSignal) => Promise<boolean>
  readonly wake: () => void
}

/** The operations that run for one record of a session in this process, and their results. Positions are those of that record. */
export class RunningOps {
  readonly #parts: Parts
  readonly #running = new Map<number, AbortController>()
  readonly #openedHere = new Set<number>()
  /** Agents that were asked and whose turn had not ended. */
  readonly #unanswered = new Set<number>()
  /** Messages to agents that are known to be in their logs, by the ids of the operations. */
  readonly sent: Set<string>
  #outcomes: FlowOutcome[] = []

  constructor(parts: Parts, sent: Set<string>) {
    this.#parts = parts
    this.sent = sent
  }

  hand(): Pick<FlowHand, 'outcomes' | 'running' | 'openedHere' | 'unanswered'> {
    const running = new Set(this.#running.keys())
    return { outcomes: this.#outcomes, running, openedHere: this.#openedHere, unanswered: this.#unanswered }
  }

  /** Must be called before the commit that opens it. */
  opens(position: number): void {
    this.#openedHere.add(position)
  }

  /** Begins with what is open in the log and does not run yet: a step, or a message to an agent. */
  begin(live: LiveOp, opened: FlowOpened, who: string): void {
    const { position, op } = live
    if (this.#running.has(position)) return
    if (op.kind === 'step') this.#startStep(live, opened)
    if (op.kind === 'agent' && !this.#unanswered.has(position)) this.#askAgent(op, opened, who)
  }

  /** Agents that had not answered are asked again. */
  lookAgain(): void {
    this.#unanswered.clear()
  }

  /** What has an outcome in the log by now is not reported any more. */
  settle(settled: ReadonlySet<number>): void {
    this.#outcomes = this.#outcomes.filter(({ position }) => !settled.has(position))
    for (const [position, controller] of this.#running) {
      if (!settled.has(position)) continue
      controller.abort()
      this.#running.delete(position)
    }
  }

  /** What they return from now on is dropped. */
  abort(): void {
    for (const controller of this.#running.values()) controller.abort()
    this.#running.clear()
  }

  #startStep({ position, run }: LiveOp, opened: FlowOpened): void {
    const controller = new AbortController()
    this.#running.set(position, controller)
    const step = { id: opened.id!, signal: controller.signal }
    const begin = async (): Promise<unknown> => {
      failpoint('flow.before_step')
      // What was aborted is not reported.
      return (await this.#parts.mayStart(controller.signal)) ? run!(step) : null
    }
    begin().then(
      (value) => this.#take(controller, { position, ...returned(normaliseValue(value)) }),
      (error: unknown) => this.#take(controller, { position, ok: false, ...thrown(error) }),
    )
  }

  #askAgent(op: AgentOp, opened: FlowOpened, who: string): void {
    const { position } = opened
    const id = opened.id!
    const controller = new AbortController()
    this.#running.set(position, controller)
    this.#parts.askAgent(op, id, who, this.sent.has(id)).then(
      (answer) => {
        this.sent.add(id)
        if (answer) this.#take(controller, { position, ok: true, value: answer as unknown as Json })
        else this.#notYet(controller, position)
      },
      (error: unknown) => {
        // Waiting does not help: the flow handles the error.
        const isFinal = PerdureError.isInstance(error) && !error.retryable && error.code !== 'runtime_closed'
        if (isFinal) this.#take(controller, { position, ok: false, ...thrown(error) })
        else this.#notYet(controller, position, error)
      },
    )
  }

  #notYet(controller: AbortController, position: number, error?: unknown): void {
    if (controller.signal.aborted) return
    const { id, warnOfStore, wake } = this.#parts
    if (error) warnOfStore('asking an agent failed; trying again', { id, error })
    this.#running.delete(position)
    this.#unanswered.add(position)
    wake()
  }

  #take(controller: AbortController, outcome: FlowOutcome): void {
    failpoint('flow.after_step')
    if (this.#running.get(outcome.position) !== controller) return
    this.#outcomes.push(outcome)
    this.#parts.wake()
  }
}

function thrown(error: unknown): Pick<FlowFailure, 'error' | 'code' | 'userFacing'> {
  return {
    error: errorText(error),
    ...(PerdureError.isInstance(error) ? { code: error.code } : {}),
    ...(UserFacingError.isInstance(error) ? { userFacing: true } : {}),
  }
}

/**
 * The store's time, as known to this process. Times in a log are the store's, so deadlines are measured by its clock, and this one advances
 * even if the time of day of this machine changes.
 */
export class StoreTime {
  readonly #clock: Clock
  /** The last time that the store told, and when it did; null before. */
  #heard: { readonly at: number; readonly monotonicMs: number } | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get isKnown(): boolean {
    return this.#heard !== null
  }

  now(): number {
    return this.#heard ? this.#heard.at + monotonic(this.#clock) - this.#heard.monotonicMs : this.#clock.now()
  }

  /** The store reported the time of a commit. If it reports none, its clock is assumed to agree with this node's. */
  heard({ at = this.#clock.now() }: { readonly at?: number }): void {
    this.#heard = { at, monotonicMs: monotonic(this.#clock) }
  }
}
