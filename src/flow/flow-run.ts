import { setImmediate as nextMacrotask } from 'node:timers/promises'
import { DeterminismError, FlowStepError } from '../errors/flow-errors.ts'
import { encode } from '../log/codec.ts'
import type { FlowOp, FlowOutcome } from '../log/events.ts'
import type { Json } from '../log/json.ts'
import type { Flow, FlowVerbs } from './define-flow.ts'
import type { FlowState } from './flow-state.ts'
import { flowVerbs } from './flow-verbs.ts'

/** An operation the code has asked for and that has no outcome yet. `run` is there for steps. */
export type LiveOp = { readonly position: number; readonly op: FlowOp; readonly run: StepFunction | null }

export type StepFunction = (step: { readonly id: string; readonly signal: AbortSignal }) => unknown

/** Where the code stands when nothing can go on without an outcome. */
export type Standstill =
  | { readonly type: 'blocked'; readonly ops: readonly LiveOp[] }
  | { readonly type: 'done'; readonly result: unknown }
  | { readonly type: 'failed'; readonly error: unknown }
  | { readonly type: 'continued'; readonly input: Json }

type Asked = LiveOp & { readonly resolve: (value: never) => void; readonly reject: (error: unknown) => void }

/**
 * One execution of a flow's code. First it is replayed: the outcomes of the record are given back one by one, in their order, so that races
 * end as they did. Then `deliver` adds new ones.
 */
export class FlowRun {
  readonly #id: string
  readonly #state: FlowState
  readonly #flow: Flow
  readonly #asked = new Map<number, Asked>()
  readonly #settled = new Set<number>()
  #ended: Standstill | null = null
  #diverged: DeterminismError | null = null
  #position = 0

  constructor(id: string, flow: Flow, state: FlowState) {
    this.#id = id
    this.#flow = flow
    this.#state = state
  }

  /** Runs the code against its record. Throws `DeterminismError` when they differ; nothing has been written then. */
  async replay(input: unknown): Promise<Standstill> {
    const { version } = this.#state
    if (version !== this.#flow.version && !this.#flow.compatible.includes(version)) {
      throw new DeterminismError(this.#id, 0, { version }, { version: this.#flow.version })
    }
    this.#begin(input)
    await this.#quiet()
    for (const outcome of this.#state.outcomes) await this.#give(outcome)
    for (const { position, op } of this.#state.ops) {
      if (!this.#asked.has(position) && !this.#settled.has(position))
        throw new DeterminismError(this.#id, position, op, this.#whatInstead())
    }
    return this.#standstill()
  }

  /** An outcome that is in the log by now. */
  async deliver(outcome: FlowOutcome): Promise<Standstill> {
    await this.#give(outcome)
    return this.#standstill()
  }

  #begin(input: unknown): void {
    const verbs: FlowVerbs = flowVerbs(
      this.#id,
      (op, run) => this.#ask(op, run),
      (next) => this.#continueAs(next),
    )
    const finished = (ended: Standstill): void => {
      this.#ended ??= ended
    }
    Promise.resolve()
      .then(() => this.#flow.run(verbs, input))
      .then(
        (result) => finished({ type: 'done', result }),
        (error: unknown) => finished({ type: 'failed', error }),
      )
  }

  #ask(op: FlowOp, run: StepFunction | null): Promise<never> {
    this.#position += 1
    const position = this.#position
    const recorded = this.#state.ops.find((candidate) => candidate.position === position)
    if (recorded && encode(recorded.op) !== encode(op))
      this.#diverged ??= new DeterminismError(this.#id, position, recorded.op, op)
    return new Promise((resolve, reject) => this.#asked.set(position, { position, op, run, resolve, reject }))
  }

  #continueAs(input: Json): Promise<never> {
    this.#ended ??= { type: 'continued', input }
    return new Promise(() => {})
  }

  async #give(outcome: FlowOutcome): Promise<void> {
    const asked = this.#asked.get(outcome.position)
    if (!asked) {
      const recorded = this.#state.ops.find(({ position }) => position === outcome.position)?.op ?? outcome
      throw new DeterminismError(this.#id, outcome.position, recorded, this.#whatInstead())
    }
    this.#asked.delete(outcome.position)
    this.#settled.add(outcome.position)
    if (outcome.ok) asked.resolve(outcome.value as never)
    else asked.reject(new FlowStepError(outcome.error))
    await this.#quiet()
  }

  /** Lets the code run until it waits for an outcome, or for something that is not the flow's to give. */
  async #quiet(): Promise<void> {
    await nextMacrotask()
    while (!this.#ended && this.#asked.size === 0 && !this.#diverged) await nextMacrotask()
    if (this.#diverged) throw this.#diverged
  }

  #standstill(): Standstill {
    if (this.#ended) return this.#ended
    return { type: 'blocked', ops: [...this.#asked.values()].map(({ position, op, run }) => ({ position, op, run })) }
  }

  #whatInstead(): unknown {
    if (this.#ended) return { end: this.#ended.type }
    return [...this.#asked.values()].at(-1)?.op ?? null
  }
}
