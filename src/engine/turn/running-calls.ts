import { callEnd } from '../../log/call-phase.ts'
import type { ResultOutcome } from '../../log/settle.ts'
import { type ConversationState, findCall } from '../../log/state.ts'

type Running = { readonly attempt: number; readonly controller: AbortController; hasReturned: boolean }

type Reports = {
  result(outcome: ResultOutcome): void
  crashed(error: unknown): void
}

/** The calls this process is executing for one conversation. */
export class RunningCalls {
  readonly #running = new Map<string, Running>()
  /** Those of `#running`, until one comes or goes. */
  #ids: ReadonlySet<string> | null = null
  readonly #reports: Reports

  constructor(reports: Reports) {
    this.#reports = reports
  }

  ids(): ReadonlySet<string> {
    this.#ids ??= new Set(this.#running.keys())
    return this.#ids
  }

  start(callId: string, attempt: number, run: (signal: AbortSignal) => Promise<ResultOutcome['result']>): void {
    const controller = new AbortController()
    const running: Running = { attempt, controller, hasReturned: false }
    this.#running.set(callId, running)
    this.#ids = null
    run(controller.signal).then(
      (result) => {
        running.hasReturned = true
        if (this.#running.get(callId)?.attempt === attempt)
          this.#reports.result({ type: 'result', callId, attempt, result })
      },
      (error) => this.#reports.crashed(error),
    )
  }

  /** Tells them to stop. What they still return is reported. */
  abort(): void {
    for (const { controller } of this.#running.values()) controller.abort()
  }

  forget(callId: string): void {
    this.#running.delete(callId)
    this.#ids = null
  }

  /** Stops those that the log says have ended otherwise, or does not know. */
  abortEnded(state: ConversationState): void {
    for (const [callId, { controller, hasReturned }] of this.#running) {
      const call = findCall(state, callId)?.call
      if (call && !callEnd(call)) continue
      if (!hasReturned) controller.abort()
      this.#running.delete(callId)
      this.#ids = null
    }
  }

  clear(): void {
    this.abort()
    this.#running.clear()
    this.#ids = null
  }
}
