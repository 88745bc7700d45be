import { setImmediate as nextMacrotask, setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { ErrorCode } from '../../base/errors/codes.ts'
import { DeterminismError, FlowStepError } from '../../base/errors/flow-errors.ts'
import type { Json } from '../../base/json.ts'
import type { Flow } from '../../define/define-flow.ts'
import { type AskedFor, flowVerbs } from '../../define/flow-verbs.ts'
import type { FlowFailure, FlowOp, FlowOutcome } from '../../log/events.ts'
import type { FlowState, RecordedOp } from './flow-state.ts'

/** An operation the code has asked for and that has no outcome yet. */
export type LiveOp = AskedFor & { readonly position: number }

/** Where the code stands when it cannot continue without an outcome. `asked` counts the operations it has asked for. */
export type Standstill = { readonly type: 'blocked'; readonly ops: readonly LiveOp[]; readonly asked: number } | Ended

type Ended =
  | { readonly type: 'done'; readonly result: unknown }
  | { readonly type: 'failed'; readonly error: unknown }
  | { readonly type: 'continued'; readonly input: Json }

type Asked = LiveOp & { readonly resolve: (value: never) => void; readonly reject: (error: unknown) => void }

/** How long the code may be busy with something that is not the flow's, before it counts as waiting for it. */
const outsideMs = 5_000
const patientTurns = 100

/**
 * One execution of a flow's code. First it is replayed: it receives the outcomes of the record one by one, in their order, so that races
 * end as they did. Then `deliver` adds new ones. Both throw `DeterminismError` when code and record differ.
 */
export class FlowRun {
  readonly #id: string
  readonly #flow: Flow
  readonly #state: FlowState
  readonly #open = new Map<number, Asked>()
  readonly #onLateAsk: () => void
  #ended: Ended | null = null
  #diverged: DeterminismError | null = null
  #asked = 0
  #isGiving = false

  constructor(id: string, flow: Flow, state: FlowState, onLateAsk: () => void = () => {}) {
    this.#id = id
    this.#flow = flow
    this.#state = state
    this.#onLateAsk = onLateAsk
  }

  async replay(): Promise<Standstill> {
    const { input, ops, outcomes } = this.#state
    await this.#quietAfter(() => this.#begin(input))
    let next = 0
    for (const outcome of outcomes) {
      while (ops[next] && ops[next]!.seq < outcome.seq) this.#expect(ops[next++]!)
      await this.#give(outcome)
    }
    while (ops[next]) this.#expect(ops[next++]!)
    return this.standstill()
  }

  /** An outcome that is in the log by now. */
  async deliver(outcome: FlowOutcome): Promise<Standstill> {
    await this.#give(outcome)
    return this.standstill()
  }

  standstill(): Standstill {
    if (this.#diverged) throw this.#diverged
    if (this.#ended) return this.#ended
    const ops = [...this.#open.values()].map(({ position, op, run, schema }) => ({ position, op, run, schema }))
    return { type: 'blocked', ops, asked: this.#asked }
  }

  #begin(input: Json): void {
    const verbs = flowVerbs(
      (asked) => this.#ask(asked),
      (next) => this.#end({ type: 'continued', input: next }),
    )
    Promise.resolve()
      .then(() => this.#flow.run(verbs, input))
      .then(
        (result) => void this.#end({ type: 'done', result }),
        (error: unknown) => void this.#end({ type: 'failed', error }),
      )
  }

  #end(ended: Ended): Promise<never> {
    if (!this.#ended && !this.#isGiving) this.#late({ end: ended.type })
    this.#ended ??= ended
    return new Promise(() => {})
  }

  #ask({ op, run, schema }: AskedFor): Promise<never> {
    this.#asked += 1
    const position = this.#asked
    const recorded = this.#recordedAt(position)
    if (recorded && !isSameOp(recorded, op)) this.#diverged ??= this.#difference(position, recorded, op)
    if (!this.#isGiving && !this.#ended) this.#late(op)
    const promise = new Promise<never>((resolve, reject) => {
      this.#open.set(position, { position, op: recorded ?? op, run, schema, resolve, reject })
    })
    // The code may look at it later; until then it must not count as an unhandled rejection.
    promise.catch(() => {})
    return promise
  }

  /** The code went on without an outcome: something that no record holds has moved it. */
  #late(actual: unknown): void {
    this.#diverged ??= this.#difference(
      this.#asked,
      { waits: 'for an outcome' },
      { after: 'waiting for something outside the flow', asks: actual },
    )
    this.#onLateAsk()
  }

  /** How many operations the code had asked for when this was written. This one is among them. */
  #expect({ position, op, asked }: RecordedOp): void {
    if (position > this.#asked) throw this.#difference(position, op, this.#whatInstead())
    if (asked < this.#asked && !this.#ended) {
      throw this.#difference(asked + 1, null, this.#open.get(asked + 1)?.op ?? this.#whatInstead())
    }
    if (asked > this.#asked) {
      throw this.#difference(
        this.#asked + 1,
        this.#recordedAt(this.#asked + 1) ?? 'another operation',
        this.#whatInstead(),
      )
    }
  }

  async #give(outcome: FlowOutcome): Promise<void> {
    const asked = this.#open.get(outcome.position)
    if (!asked) {
      const recorded = this.#recordedAt(outcome.position) ?? outcome
      throw this.#difference(outcome.position, recorded, this.#whatInstead())
    }
    await this.#quietAfter(() => {
      this.#open.delete(outcome.position)
      if (outcome.ok) asked.resolve(givenBack(asked.op, outcome.value) as never)
      else asked.reject(failureOf(outcome))
    })
  }

  /** Lets the code run until it waits for an outcome. */
  async #quietAfter(act: () => void): Promise<void> {
    this.#isGiving = true
    act()
    await nextMacrotask()
    if (this.#isStuck()) await this.#patience()
    this.#isGiving = false
    if (this.#diverged) throw this.#diverged
  }

  /** The code waits only for something that the flow does not provide. */
  #isStuck(): boolean {
    return !this.#ended && this.#open.size === 0 && !this.#diverged
  }

  async #patience(): Promise<void> {
    for (let turn = 0; turn < patientTurns && this.#isStuck(); turn++) await nextMacrotask()
    for (const until = performance.now() + outsideMs; this.#isStuck() && performance.now() < until; ) await sleep(5)
    if (!this.#isStuck()) return
    this.#diverged = this.#difference(this.#asked + 1, this.#recordedAt(this.#asked + 1) ?? null, {
      waits: 'for something outside the flow; do that in a step',
    })
  }

  #recordedAt(position: number): FlowOp | undefined {
    return this.#state.ops[position - 1]?.op
  }

  #whatInstead(): unknown {
    if (this.#ended) return { end: this.#ended.type }
    return [...this.#open.values()].at(-1)?.op ?? null
  }

  #difference(position: number, recorded: unknown, actual: unknown): DeterminismError {
    return new DeterminismError(this.#id, position, recorded, actual)
  }
}

/** A sleep resolves with nothing, as its type says; JSON has only null for that. */
function givenBack(op: FlowOp, value: Json): Json | undefined {
  return op.kind === 'sleep' ? undefined : value
}

function failureOf({ error, code, outcome, userFacing }: FlowFailure): FlowStepError {
  return new FlowStepError(error, code as ErrorCode, outcome ?? null, { userFacing: userFacing === true })
}

/**
 * Whether the code asks for what was recorded: kind, name, tag, payload, declared input. Not the schema of an answer and not `ifInterrupted`:
 * they change nothing of what has happened. The order of keys does not count.
 */
export function isSameOp(recorded: FlowOp, actual: FlowOp): boolean {
  return isDeepStrictEqual(compared(recorded), compared(actual))
}

function compared(op: FlowOp): object {
  switch (op.kind) {
    case 'suspend':
      return { kind: op.kind, tag: op.tag }
    case 'step':
      return { kind: op.kind, name: op.name, input: op.input }
    default:
      return op
  }
}
