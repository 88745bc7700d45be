import { StoreError } from '../../src/errors/store-errors.ts'
import { type Failpoint, failpoint } from '../../src/failpoint/failpoint.ts'
import { callPhase } from '../../src/log/call-phase.ts'
import { foldEvents } from '../../src/log/fold-events.ts'
import { faultsIn } from '../upkeep/faults-in.ts'
import { breaking, breakingCall } from './broken-rules.ts'
import { Foreigner } from './foreigner.ts'
import type { Plan } from './plan.ts'
import { type Calls, processStore } from './process-store.ts'
import { checkCached } from './promises/check-cached.ts'
import { checkConversation, checkMoment } from './promises/check-conversation.ts'
import { checkRest, isUpToDate } from './promises/check-rest.ts'
import type { Report } from './simulate.ts'
import { Killed, SimulatedProcess } from './simulated-process.ts'
import { noPassings, type Passings, World } from './world.ts'

const stepMs = 10
const mostRounds = 600
/** Of one scenario; many times what any run needs. */
const mostSteps = 500

/** Carries a plan out: starts processes, lets them die, stall and be disturbed, and looks at what is left. */
export class Simulation {
  readonly #plan: Plan
  readonly #world: World
  readonly #foreigner: Foreigner
  readonly #lives: Passings[] = [noPassings()]
  readonly #crashes: Failpoint[] = []
  readonly #epochs = new Map<string, number>()
  #stalled: { readonly process: SimulatedProcess; readonly since: number } | null = null
  #hasGivenUp = false
  #counts = { steps: 0, writes: 0, leases: 0, appended: 0, stalled: 0, failed: 0 }

  constructor(plan: Plan) {
    this.#plan = plan
    this.#world = new World(plan.scenarios, (process) => {
      this.#world.kill(process)
      this.#startWorker(true)
    })
    this.#foreigner = new Foreigner(this.#world)
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
    return { problems, lives: this.#lives, crashes: this.#crashes, ...this.#counts }
  }

  /** Somebody passes a failpoint: here processes die. */
  passed(name: Failpoint): void {
    const process = SimulatedProcess.current()
    if (!process) this.#world.problems.push(`'${name}' was passed outside of every process`)
    if (process?.isDead) throw new Killed()
    if (!process?.isMortal) return
    this.#world.activity += 1
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
      write: (write, takesLease) => this.#write(write, takesLease),
      instead: (name, args, make) => breakingCall(this.#plan.broken ?? null, this.#world.data, name, args, make),
      commit: async (id, change, commit) => {
        const { broken } = this.#plan
        const place = { process, now: this.#world.clock.now(), epoch: this.#epochs.get(id) ?? 0 }
        if (broken) return breaking(broken, commit, place)(change)
        const result = await commit(change)
        const { data, problems } = this.#world
        const isOwners = change.epoch !== undefined && change.events.length > 0
        if (result.ok && isOwners) problems.push(...(await checkCached(data, id, result.seq)))
        return result
      },
      leased: async (id, epoch) => {
        this.#epochs.set(id, epoch)
        await this.#noteInterrupted(id)
      },
    }
  }

  async #beforeStep(process: SimulatedProcess): Promise<void> {
    this.#world.activity += 1
    const step = ++this.#counts.steps
    if (step > mostSteps * this.#plan.scenarios.length) this.#giveUp('it goes round in circles')
    const { foreign = [], stall, scenarios } = this.#plan
    for (const append of foreign) {
      if (append.step !== step) continue
      const isDone = await this.#foreigner.append(append.action, scenarios[step % scenarios.length]!)
      if (isDone) this.#counts.appended += 1
    }
    if (stall?.step === step && !process.isDead) {
      this.#stalled = { process, since: step }
      this.#counts.stalled += 1
      process.stall()
      this.#startWorker(true)
    }
    if (this.#stalled && stall && step - this.#stalled.since >= stall.steps) this.#resume()
  }

  #resume(): void {
    this.#stalled?.process.resume()
    this.#stalled = null
  }

  async #write<T>(write: () => Promise<T>, takesLease: boolean): Promise<T> {
    const n = ++this.#counts.writes
    const nthLease = takesLease ? ++this.#counts.leases : 0
    const isLost = this.#plan.lostLeases?.includes(nthLease) ?? false
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

  /** A call that is under way when its conversation changes hands is run by nobody who could say how it ended. */
  async #noteInterrupted(id: string): Promise<void> {
    for (const turn of foldEvents(await this.#world.data.streamEvents(id)).turns) {
      for (const call of turn.calls) {
        if (!turn.end && callPhase(call).type === 'started') this.#world.interrupted.add(call.callId)
      }
    }
  }

  async #untilDone(): Promise<void> {
    for (let round = 0; round < mostRounds; round++) {
      await this.#world.settle()
      if (this.#hasGivenUp) return
      if (await this.#isDone()) {
        if (!this.#stalled) return
        this.#resume()
        continue
      }
      await this.#world.clock.advance(stepMs)
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
    if (alive.some(({ playing }) => playing > 0)) return false
    for (const scenario of this.#world.scenarios) {
      if (scenario.isPoison) {
        const record = await this.#world.data.getConversation(this.#world.idOf(scenario))
        if (!record?.quarantine) return false
        continue
      }
      const log = await this.#world.log(scenario)
      const { turns } = foldEvents(log)
      if (turns.length === 0 || turns.some((turn) => !turn.end)) return false
      const record = await this.#world.data.getConversation(this.#world.idOf(scenario))
      if (!isUpToDate(record?.fsmState ?? null, log)) return false
    }
    return true
  }

  async #whatIsOpen(): Promise<string> {
    const open: string[] = []
    for (const scenario of this.#world.scenarios) {
      const log = await this.#world.log(scenario)
      if (log.at(-1)?.type !== 'turn_ended') open.push(`${scenario.name} at ${log.map(({ type }) => type).join(', ')}`)
    }
    return open.join('; ')
  }

  async #findings(): Promise<string[]> {
    const { scenarios, effects, told, interrupted, data } = this.#world
    const problems: string[] = []
    const moments = await Promise.all(this.#world.moments)
    const faults = [...(await faultsIn(data)), ...(await Promise.all(this.#world.examinations)).flat()]
    // The doctor tells of a quarantine as it should; whose it is, is looked at below.
    problems.push(...faults.filter((fault) => !fault.startsWith('the doctor finds quarantined in')))
    for (const [index, scenario] of scenarios.entries()) {
      const id = this.#world.idOf(scenario)
      const isQuarantined = (await data.getConversation(id))?.quarantine !== undefined
      if (isQuarantined && !scenario.isPoison)
        problems.push(`${scenario.name} is quarantined, and has ended no process`)
      if (scenario.isPoison) continue
      const log = await this.#world.log(scenario)
      const own = <T extends { readonly id: string }>(all: readonly T[]) => all.filter((one) => one.id === id)
      // A call that is cut off for the third time is not run again, and the scenarios do not go on from there.
      const isDisturbed =
        this.#foreigner.isDisturbed ||
        this.#crashes.length + this.#counts.stalled > 2 ||
        scenarios.some(({ isPoison }) => isPoison)
      const ending = { scenario, log, effects: own(effects), told: own(told), interrupted, isDisturbed }
      problems.push(...checkConversation(ending))
      for (const moment of moments) problems.push(...checkMoment(scenario, moment[index]!, log))
      problems.push(...(await checkRest(data, id, log)).map((problem) => `${scenario.name}: ${problem}`))
    }
    return problems
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
