import type { Json } from '../../src/base/json.ts'
import { callPhase } from '../../src/log/call-phase.ts'
import type { LogEvent, NewEvent, SuspensionKind, TurnOptions } from '../../src/log/events.ts'
import { foldEvents } from '../../src/log/fold-events.ts'
import type { DraftCall, MessageOutcome, ResultOutcome, Verdict } from '../../src/log/settle.ts'
import { type ConversationState, openTurn, type Round } from '../../src/log/state.ts'
import { Choices } from './choices.ts'
import { SimulatedOwner } from './simulated-owner.ts'
import { answer, cancelled, draftCall, resolved, said } from './story.ts'

const maxTurns = 10
const maxRounds = 300

/** A history of one conversation: people, clients, crashes and one owner, all driven by a tape. Ends when nothing is left to do. */
export function simulate(tape: readonly number[]): SimulatedOwner {
  const world = new World(new Choices(tape), new SimulatedOwner())
  while (!world.choices.isOver) world.act()
  world.finish()
  return world.owner
}

/** What a process finds that opens this log after a crash, brought to its end. */
export function resume(log: readonly LogEvent[], tape: readonly number[] = []): SimulatedOwner {
  const world = new World(new Choices(tape), new SimulatedOwner(log))
  world.finish()
  return world.owner
}

class World {
  readonly choices: Choices
  readonly owner: SimulatedOwner
  #turns = 0
  #names = 0
  #regenerations = 0

  constructor(choices: Choices, owner: SimulatedOwner) {
    this.choices = choices
    this.owner = owner
    this.#names = owner.log.length
  }

  act(): void {
    const actions: [weight: number, () => void][] = [
      [6, () => void this.owner.work()],
      [6, () => this.#modelAnswers()],
      [6, () => this.#toolReturns()],
      [6, () => this.#somebodyAnswers()],
      [3, () => this.#newTurn([])],
      [2, () => this.#steer()],
      [2, () => this.owner.crash()],
      [1, () => this.owner.append([cancelled(`t${this.choices.below(maxTurns + 1)}`)])],
      [1, () => this.#interrupt()],
      [1, () => this.#strayAnswer()],
    ]
    this.choices.of(actions.flatMap(([weight, action]) => Array<() => void>(weight).fill(action)))()
  }

  /** No new turns; everything that waits is answered. */
  finish(): void {
    for (let round = 0; round < maxRounds; round++) {
      const step = this.owner.work()
      if (step.type === 'park' && step.state === 'idle') return
      this.#modelAnswers()
      this.#toolReturns()
      if (step.type === 'park') this.#somebodyAnswers()
    }
    throw new Error(`not finished after ${maxRounds} rounds`)
  }

  #newTurn(before: readonly NewEvent[]): void {
    if (this.#turns >= maxTurns) return
    this.#turns += 1
    this.owner.append([...before, said(`t${this.#turns}`, this.#options())])
  }

  #options(): TurnOptions {
    const { choices } = this
    const maxSteps = choices.of([undefined, 1, 3])
    const maxTokens = choices.of([undefined, 50])
    const untilTool = choices.of([undefined, 'refund'])
    const maxParallelCalls = choices.of([undefined, 1, 2])
    return {
      ...(maxSteps === undefined ? {} : { maxSteps }),
      ...(maxTokens === undefined ? {} : { maxTokens }),
      ...(untilTool === undefined ? {} : { untilTool }),
      ...(maxParallelCalls === undefined ? {} : { maxParallelCalls }),
    }
  }

  /** Steering depends on the state that was read; a terminating turn is not steered. A queued one may be extended. */
  #steer(): void {
    const live = this.#state().turns.filter((turn) => !turn.end && !turn.cancel)
    if (live.length > 0) this.owner.append([said(this.choices.of(live).turnId)])
  }

  #interrupt(): void {
    const open = openTurn(this.#state())
    if (open) this.#newTurn([cancelled(open.turnId)])
  }

  #modelAnswers(): void {
    const { model } = this.owner
    if (!model) return
    this.owner.model = null
    const messageId = `m${++this.#names}`
    const calls = Array.from({ length: this.choices.of([0, 1, 1, 3]) }, () => this.#call())
    const usage = { inputTokens: 20, outputTokens: 5 }
    const hasFailed = this.choices.below(20) === 19
    const judged = hasFailed ? { status: 'failed' as const, failure: 'connection lost' } : this.#verdict()
    // Only what is not acted on can be withheld; some agents have no hooks.
    const isWithheld = (judged.status === 'failed' || judged.verdict) && this.choices.below(2) === 1
    const outcome = answer(messageId, model.seen, {
      turnId: model.turnId,
      calls,
      usage,
      ...judged,
      ...(isWithheld ? { withheld: 'guard' } : {}),
    })
    this.owner.settle(outcome)
  }

  #verdict(): Partial<Pick<MessageOutcome, 'verdict' | 'status'>> {
    const verdicts: (Verdict | null)[] = Array<null>(18).fill(null)
    verdicts.push({ type: 'halt', reason: 'off topic' }, { type: 'fail', reason: 'invalid_object' })
    if (this.#regenerations < 5) verdicts.push({ type: 'regenerate', n: 1, feedback: 'say it better' })
    const verdict = this.choices.of(verdicts)
    if (verdict?.type === 'regenerate') this.#regenerations += 1
    return verdict ? { verdict } : {}
  }

  #call(): DraftCall {
    const { choices } = this
    const callId = `c${++this.#names}`
    const executor = choices.of(['server', 'server', 'server', 'human', 'client', 'agent'] as const)
    const isUnknown = choices.below(8) === 7
    return draftCall(callId, {
      name: choices.of(['lookup', 'refund']),
      executor,
      gated: executor !== 'human' && choices.below(3) === 2,
      ifInterrupted: choices.of(['report', 'rerun', 'ask']),
      ...(isUnknown ? { result: { ok: false, error: 'no such tool' } } : {}),
    })
  }

  #toolReturns(): void {
    const running = [...this.owner.running]
    if (running.length === 0) return
    const [callId, attempt] = this.choices.of(running)
    const results: ResultOutcome['result'][] = [
      { ok: true, result: 'done' },
      { ok: false, error: 'broke' },
      { ok: false, error: 'not JSON', outcome: 'ran' },
      { ok: false, error: 'timed out', outcome: 'unknown' },
    ]
    const halt = this.choices.below(12) === 11 ? { halt: 'handed over' } : {}
    this.owner.running.delete(callId)
    const states: Pick<ResultOutcome, 'state'>[] = [
      {},
      { state: { patch: { set: { [callId]: attempt }, remove: ['removed'] }, exposed: [] } },
      { state: { refused: 'no list' } },
    ]
    const result = this.choices.of(results)
    this.owner.settle({ type: 'result', callId, attempt, result, ...halt, ...this.choices.of(states) })
  }

  /** The store lets one resolution of a pending round through. */
  #somebodyAnswers(): void {
    const pending = this.#state().turns.flatMap((turn) => (turn.end ? [] : turn.calls.flatMap(pendingRound)))
    if (pending.length === 0) return
    const { callId, round } = this.choices.of(pending)
    const status = this.choices.of([
      'resolved',
      'resolved',
      'resolved',
      'resolved',
      'denied',
      'expired',
      'cancelled',
    ] as const)
    const value = status === 'resolved' ? this.choices.of(answers[round.kind]) : null
    this.owner.append([resolved(callId, round.kind, status, { round: round.round, value })])
  }

  /** An answer without a question: for a round that is over, or for a call that never was. */
  #strayAnswer(): void {
    const calls = this.#state().turns.flatMap((turn) => turn.calls)
    const over = calls.flatMap((call) =>
      call.rounds.flatMap((round) => (round.resolution ? [{ callId: call.callId, round }] : [])),
    )
    const stray = this.choices.of([null, ...over])
    if (stray) this.owner.append([resolved(stray.callId, stray.round.kind, 'resolved', { round: stray.round.round })])
    else this.owner.append([resolved('c0', 'approval')])
  }

  #state(): ConversationState {
    return foldEvents(this.owner.log)
  }
}

const answers: Record<SuspensionKind, Json[]> = {
  approval: [true, null, false],
  elicitation: ['blue', null],
  client_exec: [{ ok: true, result: 1 }, { ok: false, error: 'gone' }, 'free text'],
  sub_agent: [{ ok: true, result: 'hi' }],
  recovery: ['report', 'rerun', { result: 'paid' }, 'nonsense'],
}

function pendingRound(call: ConversationState['turns'][number]['calls'][number]): { callId: string; round: Round }[] {
  const phase = callPhase(call)
  return phase.type === 'pending' ? [{ callId: call.callId, round: phase.round }] : []
}
