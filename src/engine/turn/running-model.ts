import type { Step } from '../../log/next-step.ts'
import type { CancelOutcome, Outcome } from '../../log/settle.ts'
import { callModel, type Loop, type ModelTask } from './model-task.ts'
import type { TurnContext } from './turn-context.ts'

type Reports = {
  outcome(outcome: Outcome): void
  crashed(error: unknown): void
}

/** The model call this process makes for one conversation: at most one. */
export class RunningModel {
  readonly #context: TurnContext
  readonly #loop: Loop
  readonly #reports: Reports
  #task: ModelTask | null = null

  constructor(context: TurnContext, loop: Loop, reports: Reports) {
    this.#context = context
    this.#loop = loop
    this.#reports = reports
  }

  /** Does nothing while one runs. */
  start(step: Extract<Step, { type: 'model' }>): void {
    if (this.#task) return
    const task = callModel(step, this.#context, this.#loop)
    this.#task = task
    task.ended.then(
      (outcome) => {
        if (this.#task !== task) return
        this.#task = null
        if (outcome) this.#reports.outcome(outcome)
      },
      (error) => this.#reports.crashed(error),
    )
  }

  /** Aborts it; whatever it still says is not reported, but returned. */
  stop(): Promise<Outcome | null> {
    const task = this.forget()
    task?.abort()
    return task?.ended ?? Promise.resolve(null)
  }

  /** Aborts it for a cancel: what it has said by then is the end of its message. */
  async cutOff(): Promise<Pick<CancelOutcome, 'partial'>> {
    const ended = await this.stop()
    if (ended?.type !== 'message') return {}
    // A message that was finished is settled as such, and `settle` knows that its turn is being cancelled.
    const { type: _, status: __, verdict: ___, failure: ____, ...partial } = ended
    return { partial }
  }

  /** Of a turn that is not the open one any more: it answers nobody. */
  stopUnlessFor(turnId: string | null): void {
    if (this.#task && this.#task.turnId !== turnId) void this.stop()
  }

  forget(): ModelTask | null {
    const task = this.#task
    this.#task = null
    return task
  }
}
