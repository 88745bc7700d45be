import { isDeepStrictEqual } from 'node:util'
import { decide } from '../../src/log/decide.ts'
import type { LogEvent, NewEvent } from '../../src/log/events.ts'
import { foldEvents } from '../../src/log/fold-events.ts'
import { nextStep, type Step } from '../../src/log/next-step.ts'
import { type MessageOutcome, type Outcome, settle } from '../../src/log/settle.ts'
import { type ConversationState, emptyState, findTurn } from '../../src/log/state.ts'
import { continued, placed } from './story.ts'

/** More commits in a row than any log can ask for; reaching it means that the decisions go round in circles. */
const maxCommitsInARow = 6

export type ModelCall = { readonly turnId: string; readonly step: number; readonly seen: number }

/**
 * The loop of the runtime without its effects: fold, decide, act, settle, commit. Its view of the log grows old while others append, so
 * that its commits meet conflicts.
 */
export class SimulatedOwner {
  readonly log: LogEvent[]
  /** Every run of a tool, as 'callId#attempt'. */
  readonly runs: string[] = []
  readonly running = new Map<string, number>()
  model: ModelCall | null = null
  #state: ConversationState = emptyState

  constructor(log: readonly LogEvent[] = []) {
    this.log = [...log]
  }

  /** Everybody else writes here, without asking the owner. */
  append(events: readonly NewEvent[]): void {
    this.log.push(...placed(events, this.log.length))
  }

  /** Loses what was in memory, as `kill -9` does. */
  crash(): void {
    this.running.clear()
    this.model = null
    this.#state = emptyState
  }

  /** Takes the next step on the newest log. */
  work(): Step {
    this.#catchUp()
    const step = nextStep(this.#state, new Set(this.running.keys()))
    if (step.type === 'commit') this.#commit([])
    if (step.type === 'model') {
      const seen = this.#state.lastSeq
      this.model ??= { turnId: step.turnId, step: step.step, seen }
    }
    if (step.type === 'terminate') this.settle({ type: 'cancel', turnId: step.turnId, ...this.#stop(step.turnId) })
    return step
  }

  /** Brings an outcome into the log, from a view of it that may be old. */
  settle(outcome: Outcome): void {
    while (!this.#commit([outcome])) this.#catchUp()
    const again = settle(this.#state, outcome)
    if (again.length > 0) throw new Error(`settled twice: ${outcome.type} gives ${JSON.stringify(again)}`)
  }

  /** False when others have appended since: nothing is written. */
  #commit(outcomes: readonly Outcome[]): boolean {
    const { events, state } = this.#decided(outcomes)
    if (this.log.length !== this.#state.lastSeq) return false
    this.append(events)
    this.#state = state
    for (const event of events) {
      if (event.type !== 'tool_started') continue
      const { callId, attempt } = event.content
      this.running.set(callId, attempt)
      this.runs.push(`${callId}#${attempt}`)
    }
    this.#checkLimit()
    return true
  }

  /** What `decide` gives, made step by step first, so that decisions that go round in circles are told instead of hanging. */
  #decided(outcomes: readonly Outcome[]): { events: readonly NewEvent[]; state: ConversationState } {
    const running = new Set(this.running.keys())
    const events = outcomes.flatMap((outcome) => settle(this.#state, outcome))
    let state = continued(this.#state, events)
    for (let commits = 0; ; commits++) {
      const step = nextStep(state, running)
      if (step.type !== 'commit') break
      if (step.events.length === 0) throw new Error('a commit without events makes no progress')
      if (commits === maxCommitsInARow) throw new Error('the decisions go round in circles')
      for (const event of step.events) if (event.type === 'tool_started') running.add(event.content.callId)
      events.push(...step.events)
      state = continued(state, step.events)
    }
    const decision = decide(this.#state, new Set(this.running.keys()), outcomes)
    if (!isDeepStrictEqual(decision.events, events)) throw new Error('one commit has something else than its steps')
    return { events, state }
  }

  /** Ends what runs for a turn; gives what there is of its message. */
  #stop(turnId: string): { partial?: Omit<MessageOutcome, 'type' | 'status' | 'verdict' | 'failure'> } {
    for (const call of findTurn(this.#state, turnId)?.calls ?? []) this.running.delete(call.callId)
    const { model } = this
    this.model = null
    if (!model) return {}
    return {
      partial: {
        turnId,
        messageId: `partial-${turnId}`,
        seen: model.seen,
        parts: [{ type: 'text', text: 'as I was say' }],
        model: { provider: 'test', modelId: 'one' },
        usage: {},
        finishReason: 'aborted',
        calls: [],
      },
    }
  }

  #catchUp(): void {
    this.#state = foldEvents(this.log.slice(this.#state.lastSeq), this.#state)
  }

  #checkLimit(): void {
    const open = this.#state.turns.find((turn) => turn.calls.some((call) => this.running.has(call.callId)))
    const limit = open?.options.maxParallelCalls ?? 8
    if (this.running.size > limit) throw new Error(`${this.running.size} calls run; the limit is ${limit}`)
  }
}
