import type { Json } from '../../src/base/json.ts'
import { callPhase } from '../../src/log/call-phase.ts'
import type { LogEvent, NewEvent, SuspensionKind, TurnOptions } from '../../src/log/events.ts'
import { waitsIn } from '../../src/log/fold-call.ts'
import { foldEvents } from '../../src/log/fold-events.ts'
import { nextStep } from '../../src/log/next-step.ts'
import { readSnapshot } from '../../src/log/read-snapshot.ts'
import { restoredEvents } from '../../src/log/restored-events.ts'
import type { MessageOutcome, ResultOutcome, Verdict } from '../../src/log/settle.ts'
import { type CallState, type ConversationState, openTurn, type Round } from '../../src/log/state.ts'
import { placeOf } from '../../src/log/superseded.ts'
import { userMsg } from '../../src/log/validate-event.ts'
import { takeSnapshot } from '../../src/snapshot/take-snapshot.ts'
import type { SeededRandom } from '../faults/harness/seeded-random.ts'
import { SimulatedOwner } from '../log/simulated-owner.ts'
import { cancelled, moved, noted, placed, replacing, resolved } from '../log/story.ts'
import { forkLog } from './fork-log.ts'
import { MessageGenerator } from './message-generator.ts'

export type GeneratedLog = {
  readonly log: readonly LogEvent[]
  /** The seqs that model calls of one process were rendered from, by process: a crash begins another. */
  readonly calls: readonly (readonly number[])[]
  readonly hasCrashed: boolean
  readonly isForked: boolean
  /** It begins with what a snapshot of another log says. */
  readonly isRestored: boolean
}

/** What the application notes, which no prompt may have. */
export const noteText = 'noted for people'

const maxTurns = 8
const maxRegenerations = 4

/** A conversation in which everything happens that can: made by the functions that decide, from random outcomes. */
export function generateLog(random: SeededRandom): GeneratedLog {
  const world = new World(random, new SimulatedOwner())
  const steps = random.int(20, 160)
  for (let step = 0; step < steps; step++) world.act()
  if (random.chance(0.2)) return restored(world, random)
  if (!random.chance(0.25)) return world.generated(false)
  const fork = new World(random, new SimulatedOwner(forkLog(world.owner.log, random.int(0, world.owner.log.length))))
  for (let step = 0; step < 15; step++) fork.act()
  const { hasCrashed } = world.generated(false)
  const forked = fork.generated(true)
  return { ...forked, hasCrashed: hasCrashed || forked.hasCrashed }
}

/** Goes on in another log, from a snapshot of any prefix of this one. */
function restored(world: World, random: SeededRandom): GeneratedLog {
  const state = foldEvents(world.owner.log.slice(0, random.int(0, world.owner.log.length)))
  const read = readSnapshot(takeSnapshot({ state, origin: { summary: null } }))
  if (!read.ok) throw new Error(read.problem)
  let ids = 0
  const events = restoredEvents(read.snapshot, {
    ...{ who: 'ann', now: 0, newId: () => `restored-${++ids}` },
    fileOf: ({ mediaType, blob, url = '' }) => ({ type: 'file', mediaType, data: blob ?? url }),
  })
  const next = new World(random, new SimulatedOwner(placed(events, 0)))
  for (let step = 0; step < 15; step++) next.act()
  const { hasCrashed } = world.generated(false)
  const generated = next.generated(false)
  return { ...generated, isRestored: true, hasCrashed: hasCrashed || generated.hasCrashed }
}

class World {
  readonly owner: SimulatedOwner
  readonly #random: SeededRandom
  readonly #say: MessageGenerator
  readonly #calls: number[][] = [[]]
  #turns = 0
  #regenerations = 0
  #hasCrashed = false

  constructor(random: SeededRandom, owner: SimulatedOwner) {
    this.#random = random
    this.#say = new MessageGenerator(random, owner.log.length * 100)
    this.owner = owner
    this.#turns = owner.log.filter((event) => event.type === 'user_msg').length
  }

  generated(isForked: boolean): GeneratedLog {
    return { log: this.owner.log, calls: this.#calls, hasCrashed: this.#hasCrashed, isForked, isRestored: false }
  }

  act(): void {
    const actions: [weight: number, () => void][] = [
      [8, () => this.#work()],
      [8, () => this.#modelAnswers()],
      [6, () => this.#toolReturns()],
      [5, () => this.#somebodyAnswers()],
      [3, () => this.#newTurn([])],
      [8, () => this.#replace()],
      [1, () => this.#steer()],
      [1, () => this.#inject()],
      [0.7, () => this.owner.append([noted('rated', noteText)])],
      [0.5, () => this.#moveDeadline()],
      [0.5, () => this.#crash()],
      [0.5, () => this.#cancel()],
      [0.3, () => this.#interrupt()],
    ]
    let place = this.#random.next() * actions.reduce((total, [weight]) => total + weight, 0)
    for (const [weight, action] of actions) {
      place -= weight
      if (place < 0) return action()
    }
  }

  #work(): void {
    const before = this.owner.model
    const state = this.#state()
    const step = nextStep(state, new Set(this.owner.running.keys()))
    if (step.type === 'terminate') {
      const { model } = this.owner
      this.owner.model = null
      for (const callId of this.owner.running.keys()) this.owner.running.delete(callId)
      const partial = model ? { partial: this.#draft(model.turnId, model.seen, this.#random.int(0, 2)) } : {}
      this.owner.settle({ type: 'cancel', turnId: step.turnId, ...partial })
      return
    }
    this.owner.work()
    const { model } = this.owner
    if (model && model !== before) this.#calls.at(-1)!.push(model.seen)
  }

  #crash(): void {
    this.owner.crash()
    this.#hasCrashed = true
    this.#calls.push([])
  }

  #newTurn(before: readonly NewEvent[]): void {
    if (this.#turns >= maxTurns) return
    this.#turns += 1
    this.owner.append([...before, this.#said(`t${this.#turns}`, this.#options())])
  }

  /** As `send` does it: only while no turn is open or queued. */
  #replace(): void {
    const { turns } = this.#state()
    if (turns.length === 0 || turns.some(({ end }) => !end)) return
    const replaced = this.#random.pick(turns)
    this.#newTurn([replacing(placeOf(replaced), `t${this.#turns + 1}`)])
  }

  #said(turnId: string, options: TurnOptions = {}): NewEvent {
    return userMsg({ turnId, message: this.#say.userMessage(), options, who: 'ann' })
  }

  #options(): TurnOptions {
    const maxSteps = this.#random.pick([undefined, undefined, 1, 3])
    return maxSteps === undefined ? {} : { maxSteps }
  }

  #steer(): void {
    const live = this.#state().turns.filter((turn) => !turn.end && !turn.cancel)
    if (live.length > 0) this.owner.append([this.#said(this.#random.pick(live).turnId)])
  }

  #moveDeadline(): void {
    const calls = openTurn(this.#state())?.calls ?? []
    const waiting = calls.filter((call) => call.rounds.some(({ round }) => waitsIn(call, { round })))
    if (waiting.length === 0) return
    const { callId, rounds } = this.#random.pick(waiting)
    this.owner.append([moved(callId, this.#random.pick([null, 60_000]), rounds.at(-1)!.round)])
  }

  #cancel(): void {
    const live = this.#state().turns.filter((turn) => !turn.end)
    if (live.length > 0) this.owner.append([cancelled(this.#random.pick(live).turnId)])
  }

  #interrupt(): void {
    const open = openTurn(this.#state())
    if (open) this.#newTurn([cancelled(open.turnId)])
  }

  /** A durable hook adds to the call that is being prepared: the model sees it, so what it sees is newer. */
  #inject(): void {
    const { model } = this.owner
    if (!model) return
    const parts = Array.from({ length: this.#random.int(0, 2) }, () => this.#say.userPart())
    const { turnId, step } = model
    this.owner.settle({ type: 'injection', turnId, step, hook: this.#say.name('hook'), parts })
    this.owner.model = null
    this.#calls.at(-1)!.pop()
  }

  #modelAnswers(): void {
    const { model } = this.owner
    if (!model) return
    this.owner.model = null
    const draft = this.#draft(model.turnId, model.seen, this.#random.pick([0, 1, 1, 2, 4]))
    const hasFailed = this.#random.chance(0.06)
    const ending: Pick<MessageOutcome, 'status' | 'verdict' | 'failure'> = hasFailed
      ? { status: 'failed', failure: 'lost' }
      : { status: 'complete', ...this.#verdict() }
    const isWithheld = (hasFailed || ending.verdict) && this.#random.chance(0.5)
    this.owner.settle({ type: 'message', ...draft, ...ending, ...(isWithheld ? { withheld: 'guard' } : {}) })
  }

  #draft(turnId: string, seen: number, calls: number): Omit<MessageOutcome, 'type' | 'status'> {
    const drafts = Array.from({ length: calls }, () => this.#say.call())
    const model = this.#say.model()
    const parts = this.#say.assistantParts(drafts, model)
    const usage = { inputTokens: 20, outputTokens: 5 }
    return { turnId, messageId: this.#say.name('m'), seen, parts, model, usage, finishReason: 'stop', calls: drafts }
  }

  #verdict(): Pick<MessageOutcome, 'verdict'> {
    if (!this.#random.chance(0.12)) return {}
    const feedback = this.#say.text()
    const verdicts: Verdict[] = [
      { type: 'halt', reason: 'off topic' },
      { type: 'fail', reason: 'invalid_object' },
    ]
    if (this.#regenerations < maxRegenerations) {
      this.#regenerations += 1
      verdicts.push(...Array.from({ length: 4 }, () => ({ type: 'regenerate', n: 1, feedback }) as const))
    }
    return { verdict: this.#random.pick(verdicts) }
  }

  #toolReturns(): void {
    const running = [...this.owner.running]
    if (running.length === 0) return
    const [callId, attempt] = this.#random.pick(running)
    const results: ResultOutcome['result'][] = [
      ...Array.from({ length: 6 }, () => ({ ok: true as const, result: this.#say.value() })),
      { ok: false, error: 'broke' },
      { ok: false, error: '' },
      { ok: false, error: 'not JSON', outcome: 'ran' },
      { ok: false, error: 'timed out', outcome: 'unknown' },
    ]
    this.owner.running.delete(callId)
    this.owner.settle({ type: 'result', callId, attempt, result: this.#random.pick(results) })
  }

  #somebodyAnswers(): void {
    const pending = this.#state().turns.flatMap((turn) => (turn.end ? [] : turn.calls.flatMap(pendingRound)))
    if (pending.length === 0) return
    const { call, round } = this.#random.pick(pending)
    const { callId } = call
    const status = this.#random.pick(['resolved', 'resolved', 'resolved', 'resolved', 'denied', 'expired'] as const)
    const value = status === 'resolved' ? this.#answer(round.kind) : { reason: this.#say.text() }
    const isEdited = round.kind === 'approval' && status === 'resolved' && value === true && this.#random.chance(0.5)
    const edited = isEdited ? { edited: { before: call.args, after: { q: this.#say.text() } } } : {}
    this.owner.append([resolved(callId, round.kind, status, { round: round.round, value, ...edited })])
  }

  #answer(kind: SuspensionKind): Json {
    const { value, text } = { value: this.#say.value(), text: this.#say.text() }
    const answers: Record<SuspensionKind, Json[]> = {
      approval: [true, true, true, true, false],
      elicitation: [value],
      client_exec: [{ ok: true, result: value }, { ok: false, error: text }, value],
      sub_agent: [{ ok: true, result: value }],
      recovery: ['report', 'rerun', { result: value }],
    }
    return this.#random.pick(answers[kind])
  }

  #state(): ConversationState {
    return foldEvents(this.owner.log)
  }
}

function pendingRound(call: CallState): { call: CallState; round: Round }[] {
  const phase = callPhase(call)
  return phase.type === 'pending' ? [{ call, round: phase.round }] : []
}
