import { StoreError } from '../../src/base/errors/store-errors.ts'
import { type Failpoint, failpoint } from '../../src/base/failpoint.ts'
import { callPhase } from '../../src/log/call-phase.ts'
import { foldEvents } from '../../src/log/fold-events.ts'
import type { Change } from '../../src/store/change.ts'
import { lapseWithinMs } from '../../src/store/lease.ts'
import { faultsIn } from '../upkeep/faults-in.ts'
import { breaking, breakingCall } from './broken-rules.ts'
import { Foreigner } from './foreigner.ts'
import type { Plan } from './plan.ts'
import { type Calls, type LeaseTaking, processStore } from './process-store.ts'
import { checkCached } from './promises/check-cached.ts'
import { checkConversation, checkMoment } from './promises/check-conversation.ts'
import { checkFamily, checkTelling } from './promises/check-family.ts'
import { checkRest, isParked, isUpToDate } from './promises/check-rest.ts'
import type { Scenario } from './scenarios/scenario.ts'
import type { Report } from './simulate.ts'
import { Killed, SimulatedProcess } from './simulated-process.ts'
import { isAtEnd, noPassings, type Passings, timing, World } from './world.ts'
import { Zombies } from './zombies.ts'

const stepMs = 10
/** By the simulated clock. While a store fails for long, not much happens in a step. */
const longStepMs = 40
const longestStepMs = 5_000
const mostMs = 6_000
/** Of one scenario, and for each millisecond that passes, in which all poll; many times what any run needs. */
const mostSteps = 500
const mostStepsPerMs = 0.1

/** Carries a plan out: starts processes, lets them die, stall and be disturbed, and looks at what is left. */
export class Simulation {
  readonly #plan: Plan
  readonly #world: World
  readonly #foreigner: Foreigner
  readonly #lives: Passings[] = [noPassings()]
  readonly #crashes: Failpoint[] = []
  readonly #zombies: Zombies
  readonly #begunAt: number
  #hasGivenUp = false
  #counts = {
    ...{ steps: 0, writes: 0, leases: 0, appended: 0, stalled: 0, failed: 0 },
    ...{ lostCommits: 0, lostResolutions: 0 },
  }

  constructor(plan: Plan) {
    this.#plan = plan
    this.#world = new World(plan, (process) => {
      this.#world.kill(process)
      this.#startWorker(true)
    })
    this.#foreigner = new Foreigner(this.#world)
    this.#zombies = new Zombies(this.#world.data)
    this.#begunAt = this.#world.clock.now()
  }

  async run(): Promise<Report> {
    await this.#foreigner.approveBeforehand()
    const { workers = 1 } = this.#plan
    this.#startWorker(true)
    for (let more = 1; more < workers; more++) this.#startWorker(false)
    const { problems } = this.#world
    try {
      await this.#untilDone()
      problems.push(...(await this.#findings()))
    } catch (error) {
      problems.push(`it could not be looked at: ${error instanceof Error ? error.message : String(error)}`)
    }
    await this.#end()
    const { refused } = this.#world.outage
    return { problems, lives: this.#lives, crashes: this.#crashes, ...this.#counts, ...this.#zombies.counts, refused }
  }

  /** A process passes a failpoint: here processes die. */
  passed(name: Failpoint): void {
    const process = SimulatedProcess.current()
    if (!process) this.#world.problems.push(`'${name}' was passed outside of every process`)
    if (process?.isDead) throw new Killed()
    if (!process?.isMortal) return
    this.#world.activity += 1
    if (name.endsWith('resolve_parent')) this.#zombies.tells(process, name === 'child.before_resolve_parent')
    const life = this.#lives.at(-1)!
    life[name] += 1
    const crash = this.#plan.crashes?.[this.#crashes.length]
    if (crash?.failpoint !== name || crash.nth !== life[name]) return
    this.#crashes.push(name)
    this.#lives.push(noPassings())
    this.#world.kill(process)
    this.#startWorker(true)
    throw new Killed()
  }

  #startWorker(plays: boolean): void {
    const process = new SimulatedProcess(`worker ${this.#world.started.length}`, true)
    this.#world.start(process, processStore(this.#world.data, process, this.#calls(process)), { plays })
  }

  #calls(process: SimulatedProcess): Calls {
    return {
      before: () => this.#beforeStep(process),
      refuse: (name, args) => this.#world.outage.refuse(process.name, name, args),
      write: (write, lease) => this.#write(write, lease),
      instead: (name, args, make) => breakingCall(this.#plan.broken ?? null, this.#world.data, name, args, make),
      commit: async (id, change, commit) => {
        const { broken } = this.#plan
        const place = { process, now: this.#world.clock.now(), epoch: this.#zombies.epochOf(id) }
        if (broken) return breaking(broken, commit, place)(change)
        const { data, problems } = this.#world
        const told = await checkTelling(change.events, (childId) => data.streamEvents(childId))
        const result = await commit(change)
        if (result.ok) problems.push(...told)
        const isOwners = change.epoch !== undefined && change.events.length > 0
        if (result.ok && isOwners) problems.push(...(await checkCached(data, id, result.seq)))
        return result
      },
      leased: async (id, epoch) => {
        this.#zombies.leased(id, epoch, process)
        await this.#noteInterrupted(id)
      },
    }
  }

  async #beforeStep(process: SimulatedProcess): Promise<void> {
    this.#world.activity += 1
    const step = ++this.#counts.steps
    const most = mostSteps * this.#plan.scenarios.length + (this.#world.clock.now() - this.#begunAt) * mostStepsPerMs
    if (step > most) this.#giveUp('it goes round in circles')
    const { foreign = [], stall, scenarios } = this.#plan
    for (const append of foreign) {
      if (append.step !== step) continue
      const isDone = await this.#foreigner.append(append.action, scenarios[step % scenarios.length]!)
      if (isDone) this.#counts.appended += 1
    }
    if (stall?.step === step && !process.isDead) {
      this.#counts.stalled += 1
      await this.#zombies.stall(process, step)
      this.#startWorker(true)
    }
    const { since } = this.#zombies
    if (since !== null && stall && step - since >= stall.steps) this.#zombies.resume()
  }

  async #write<T>(write: () => Promise<T>, lease: LeaseTaking): Promise<T> {
    const n = ++this.#counts.writes
    const nthLease = lease === 'none' ? 0 : ++this.#counts.leases
    const isLost = this.#plan.lostLeases?.includes(nthLease) ?? false
    if (isLost && typeof lease === 'object') {
      this.#counts.lostCommits += 1
      if (endsChild(lease)) this.#counts.lostResolutions += 1
    }
    const planned = this.#plan.failures?.find((candidate) => candidate.write === n)
    const failure = isLost ? { isMade: true } : planned
    if (failure) this.#counts.failed += 1
    failpoint('store.inside_transaction')
    if (failure && !failure.isMade) throw new StoreError('the disk is busy; nothing was written')
    const result = await write()
    failpoint('store.after_transaction')
    if (failure) throw new StoreError('the connection broke', { ambiguous: true })
    return result
  }

  /** A call that is under way when its conversation changes hands is run by no process that could say how it ended. */
  async #noteInterrupted(id: string): Promise<void> {
    for (const turn of foldEvents(await this.#world.data.streamEvents(id)).turns) {
      for (const call of turn.calls) {
        if (!turn.end && callPhase(call).type === 'started') this.#world.interrupted.add(call.callId)
      }
    }
  }

  async #untilDone(): Promise<void> {
    const { clock, outage, scenarios } = this.#world
    // A parent that was being cancelled may have lapsed with its child, with each process that died: the next takes them one after the other.
    const { crashes = [] } = this.#plan
    const lapsedMs = scenarios.some(({ hasHelper }) => hasHelper) ? (1 + crashes.length) * (lapseWithinMs + 1_000) : 0
    while (clock.now() < this.#begunAt + mostMs + outage.patienceMs + lapsedMs) {
      await this.#world.settle()
      if (this.#hasGivenUp) return
      if (outage.hasJustEnded()) await this.#checkOthers()
      if (!outage.isObserved && (await this.#isDone())) {
        if (this.#zombies.since === null) return
        this.#zombies.resume()
        continue
      }
      const isLate = clock.now() > this.#begunAt + mostMs + outage.patienceMs
      await clock.advance(isLate ? longestStepMs : outage.hasBegun ? longStepMs : stepMs)
    }
    this.#giveUp(`it never came to rest: ${await this.#whatIsOpen()}`)
  }

  /** Without this, what never ends would never be told of. */
  #giveUp(problem: string): void {
    if (this.#hasGivenUp) return
    this.#hasGivenUp = true
    this.#world.problems.push(problem)
    for (const { process } of this.#world.started) process.kill()
  }

  async #isDone(): Promise<boolean> {
    const alive = this.#world.started.filter(({ process }) => !process.isDead && !process.isStalled)
    const { outage, scenarios } = this.#world
    const isLeft = scenarios.some((scenario) => outage.isForGood(this.#world.idOf(scenario)))
    if (!isLeft && alive.some(({ playing }) => playing > 0)) return false
    for (const scenario of scenarios) {
      if (outage.isForGood(this.#world.idOf(scenario))) continue
      if (scenario.isPoison) {
        const record = await this.#world.data.getConversation(this.#world.idOf(scenario))
        if (!record?.quarantine) return false
        continue
      }
      for (const { id, log } of await this.#world.family(scenario)) {
        const { turns } = foldEvents(log)
        if (turns.length === 0 || turns.some((turn) => !turn.end)) return false
        const record = await this.#world.data.getConversation(id)
        if (!isUpToDate(record?.fsmState ?? null, log)) return false
        // A child agent is done when its parent knows.
        if (id !== this.#world.idOf(scenario) && !(await isParked(this.#world.data, id))) return false
      }
    }
    return true
  }

  async #whatIsOpen(): Promise<string> {
    const open: string[] = []
    for (const scenario of this.#world.scenarios) {
      const log = await this.#world.log(scenario)
      const family = scenario.hasHelper ? (await this.#world.family(scenario)).slice(1) : []
      const children = family.map((child) => `; its child at ${child.log.map(({ type }) => type).join(', ')}`).join('')
      if (!isAtEnd(log) || children)
        open.push(`${scenario.name} at ${log.map(({ type }) => type).join(', ')}${children}`)
    }
    return open.join('; ')
  }

  async #findings(): Promise<string[]> {
    const { scenarios, effects, told, interrupted, data, outage } = this.#world
    const problems = outage.problems(timing.leaseMs)
    const moments = await Promise.all(this.#world.moments)
    const faults = [...(await faultsIn(data)), ...(await Promise.all(this.#world.examinations)).flat()]
    // The doctor tells of a quarantine as it should; whose it is, is looked at below.
    problems.push(...faults.filter((fault) => !fault.startsWith('the doctor finds quarantined in')))
    for (const [index, scenario] of scenarios.entries()) {
      const id = this.#world.idOf(scenario)
      const isQuarantined = (await data.getConversation(id))?.quarantine !== undefined
      if (isQuarantined && !scenario.isPoison)
        problems.push(`${scenario.name} is quarantined, and has ended no process`)
      if (outage.isForGood(id)) problems.push(...(await this.#checkVisible(scenario)))
      if (scenario.isPoison || outage.isForGood(id)) continue
      const family = await this.#world.family(scenario)
      const log = family[0]!.log
      const own = <T extends { readonly id: string }>(all: readonly T[]) => all.filter((one) => one.id === id)
      // A call that is cut off for the third time is not run again, and the scenarios do not go on from there.
      const isDisturbed =
        this.#foreigner.isDisturbed ||
        this.#crashes.length + this.#counts.stalled > 2 ||
        scenarios.some(({ isPoison }) => isPoison)
      const ending = { scenario, log, effects: own(effects), told: own(told), interrupted, isDisturbed }
      problems.push(...checkConversation(ending))
      for (const child of family.slice(1)) {
        const helper = { ...ending, log: child.log, isDisturbed: true }
        const of = <T extends { readonly id: string }>(all: readonly T[]) => all.filter((one) => one.id === child.id)
        problems.push(...checkConversation({ ...helper, effects: of(effects), told: of(told) }))
        problems.push(...(await checkRest(data, child.id, child.log)).map((problem) => `a child of ${id}: ${problem}`))
      }
      const logs = new Map(family.map((one) => [one.id, one.log]))
      for (const one of family) problems.push(...checkFamily(one.log, (childId) => logs.get(childId) ?? []))
      for (const moment of moments) problems.push(...checkMoment(scenario, moment[index]!, log))
      problems.push(...(await checkRest(data, id, log)).map((problem) => `${scenario.name}: ${problem}`))
    }
    return problems
  }

  /** Those whose commits were taken have not waited for the one whose commits were refused. */
  async #checkOthers(): Promise<void> {
    const { scenarios, outage, problems } = this.#world
    for (const scenario of scenarios) {
      if (outage.concerns(this.#world.idOf(scenario)) || scenario.hasHelper) continue
      const isEnded = isAtEnd(await this.#world.log(scenario))
      if (!isEnded) problems.push(`${scenario.name} stood still while the store failed for another`)
    }
  }

  /** What a store refuses for good is told of by some process that works. */
  async #checkVisible(scenario: Scenario): Promise<string[]> {
    const id = this.#world.idOf(scenario)
    const alive = this.#world.started.filter(({ process }) => !process.isDead && !process.isStalled)
    const listed = (await Promise.all(alive.map(({ runtime }) => runtime.conversations({ limit: 100 })))).flat()
    const isTold = listed.some((one) => one.id === id && one.problem?.code === 'store_failed')
    return isTold ? [] : [`${scenario.name} is refused for good, and no process tells`]
  }

  async #end(): Promise<void> {
    for (const { process, runtime } of this.#world.started) {
      if (!process.isDead) void runtime.close({ drainMs: 0 })
    }
    await this.#world.settle()
    for (const { process } of this.#world.started) process.kill()
    await this.#world.data.close()
  }
}

function endsChild({ events }: Change): boolean {
  return events.some(({ type, content }) => type === 'resolution' && content.kind === 'sub_agent')
}
