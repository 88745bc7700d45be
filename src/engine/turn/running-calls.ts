import { type Clock, monotonic } from '../../base/clock.ts'
import { ToolMissingError } from '../../base/errors/runtime-errors.ts'
import { Lru } from '../../base/lru.ts'
import type { Agent } from '../../define/agent.ts'
import { toolNamed } from '../../define/tool-source.ts'
import { callEnd, callPhase } from '../../log/call-phase.ts'
import { isDue } from '../../log/next-step.ts'
import type { CallOutcome, ResultOutcome } from '../../log/settle.ts'
import { type CallState, type ConversationState, findCall, openTurn } from '../../log/state.ts'
import { type ConversationRef, conversationKey } from '../../store/records.ts'

type Running = { readonly attempt: number; readonly controller: AbortController; hasReturned: boolean }

type Reports = {
  result(outcome: ResultOutcome): void
  crashed(error: unknown): void
}

/** The calls this process is executing for one conversation. */
export class RunningCalls {
  readonly #running = new Map<string, Running>()
  /** The ids in `#running`, kept until a call comes or goes. */
  #ids: ReadonlySet<string> | null = null
  readonly #reports: Reports

  constructor(reports: Reports) {
    this.#reports = reports
  }

  ids(): ReadonlySet<string> {
    this.#ids ??= new Set(this.#running.keys())
    return this.#ids
  }

  start(callId: string, attempt: number, run: (signal: AbortSignal) => Promise<CallOutcome>): void {
    const controller = new AbortController()
    const running: Running = { attempt, controller, hasReturned: false }
    this.#running.set(callId, running)
    this.#ids = null
    run(controller.signal).then(
      (outcome) => {
        running.hasReturned = true
        if (this.#running.get(callId)?.attempt === attempt)
          this.#reports.result({ type: 'result', callId, attempt, ...outcome })
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

/** Leaves calls to other nodes whose tools are not in the code of this one, as in the middle of a deploy. */
export class MissingTools {
  readonly #ref: ConversationRef
  readonly #agent: Agent
  readonly #timeouts: MissingToolTimeouts

  constructor(ref: ConversationRef, agent: Agent, timeouts: MissingToolTimeouts) {
    this.#ref = ref
    this.#agent = agent
    this.#timeouts = timeouts
  }

  /** The calls of the open turn that would run now, or start a child agent, and are not for this node. Empty once it has waited for long enough. */
  callsForOtherNodes(state: ConversationState): readonly CallState[] {
    const turn = openTurn(state)
    const left: CallState[] = []
    for (const call of turn?.calls ?? []) {
      const lacksTool = toolNamed(this.#agent, call.name)?.executor !== call.executor
      if (lacksTool && needsTool(call) && this.#waitMs(call) > 0) left.push(call)
    }
    return left
  }

  /** Throws `ToolMissingError` if there are such calls, so that the worker releases the conversation, because nothing else can run. */
  release([call]: readonly CallState[]): void {
    if (call) throw new ToolMissingError(this.#ref.id, this.#agent.name, call, this.#waitMs(call))
  }

  #waitMs({ callId }: CallState): number {
    return this.#timeouts.remainingMs(this.#ref, callId)
  }
}

function needsTool(call: CallState): boolean {
  const phase = callPhase(call)
  return phase.type === 'unasked' ? phase.kind === 'sub_agent' : call.executor === 'server' && isDue(call, phase)
}

const mostRemembered = 10_000

/** How long this process leaves calls to others whose tool its agents lack. Counted from when it first met the call, by a clock that never goes back. */
export class MissingToolTimeouts {
  readonly #clock: Clock
  readonly #waitMs: number
  /** Until when, by conversation and call. */
  readonly #until = new Lru<number>({ entries: mostRemembered })

  constructor(clock: Clock, waitMs: number) {
    this.#clock = clock
    this.#waitMs = waitMs
  }

  /** Zero once it has been left for long enough. */
  remainingMs({ tenant, id }: ConversationRef, callId: string): number {
    const key = JSON.stringify([conversationKey(tenant, id), callId])
    const now = monotonic(this.#clock)
    const known = this.#until.get(key)
    const until = known ?? now + this.#waitMs
    if (known === undefined) this.#until.set(key, until)
    return Math.max(0, until - now)
  }
}
