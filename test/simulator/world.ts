import { StoreError } from '../../src/base/errors/store-errors.ts'
import { childFailpoints, type Failpoint, failpoints } from '../../src/base/failpoint.ts'
import { silentLogger } from '../../src/base/logger.ts'
import { childIdOf } from '../../src/log/child-call.ts'
import type { LogEvent } from '../../src/log/events.ts'
import type { Conversation } from '../../src/runtime/conversation.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import type { Runtime } from '../../src/runtime/runtime.ts'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import type { Store } from '../../src/store/store.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { faultsIn } from '../upkeep/faults-in.ts'
import { StoreOutage } from './outage.ts'
import type { Plan } from './plan.ts'
import type { Moment } from './promises/check-conversation.ts'
import { checkPrompt } from './promises/check-prompt.ts'
import { play, watch } from './scenarios/people.ts'
import type { Effect, Host, Scenario, Told } from './scenarios/scenario.ts'
import { scenarioAgent } from './scenarios/scenario-agent.ts'
import { SimulatedProcess } from './simulated-process.ts'

export type Passings = Record<Failpoint, number>

export const noPassings = (): Passings =>
  Object.fromEntries([...failpoints, ...childFailpoints].map((name) => [name, 0])) as Passings

/** How long, by the simulated clock, a dead process holds what it had, and how often the others look. */
export const timing = { leaseMs: 90, pollMs: 40 }
const pauseMs = 10
/** Of people who hear that the store has failed again. */
const longPauseMs = 1_000

export type Started = {
  readonly process: SimulatedProcess
  readonly host: Host
  readonly runtime: Runtime
  /** How many of its people are not done. */
  playing: number
}

/** The shared store, everything outside it, and the processes. */
export class World {
  readonly scenarios: readonly Scenario[]
  readonly clock = fakeClock()
  readonly data: Store = memoryStore({ clock: this.clock, logger: silentLogger })
  readonly effects: Effect[] = []
  readonly told: Told[] = []
  readonly problems: string[] = []
  readonly interrupted = new Set<string>()
  readonly started: Started[] = []
  /** What was known when a process died, of each conversation. */
  readonly moments: Promise<readonly Moment[]>[] = []
  /** What the doctor found when a process died: nothing, if every commit leaves all rows as the log says. */
  readonly examinations: Promise<readonly string[]>[] = []
  /** Grows with everything that happens, so that nothing happening can be noticed. */
  activity = 0

  readonly outage: StoreOutage
  readonly #die: (process: SimulatedProcess) => void
  readonly #room: number

  /** `die`: what happens when a process is ended by what it works on. */
  constructor({ scenarios, outage = null, room = 256 }: Plan, die: (process: SimulatedProcess) => void) {
    this.scenarios = scenarios
    this.outage = new StoreOutage(outage, this.clock)
    this.#room = room
    this.#die = die
  }

  idOf = (scenario: Scenario): string => `c-${scenario.name}`

  log(scenario: Scenario): Promise<LogEvent[]> {
    return this.data.streamEvents(this.idOf(scenario))
  }

  /** The conversation of a scenario, and those of the child agents that it has started, and they. */
  async family(scenario: Scenario): Promise<{ readonly id: string; readonly log: LogEvent[] }[]> {
    const found = [{ id: this.idOf(scenario), log: await this.log(scenario) }]
    for (const { log } of found) {
      for (const { type, content } of log) {
        if (type !== 'tool_call' || content.executor !== 'agent') continue
        const id = childIdOf(content.callId)
        const log = await this.data.streamEvents(id)
        if (log.length > 0) found.push({ id, log })
      }
    }
    return found
  }

  /** A new process; `plays`: with people who tell the scenarios in it. */
  start(process: SimulatedProcess, store: Store, options: { work?: boolean; plays?: boolean } = {}): Started {
    const { work = true, plays = false } = options
    let started!: Started
    process.enter(() => {
      const host = this.#host(process, () => started.runtime)
      const agents = this.scenarios.map((scenario) => scenarioAgent(scenario, host))
      const logger = {
        ...silentLogger,
        error: (message: string, details?: object) => this.#complaint(message, details),
      }
      const options = { ...timing, maxConcurrentTurns: this.#room }
      const runtime = createRuntime({ agents, store, clock: process.clock(this.clock), logger, work, ...options })
      started = { process, host, runtime: runtime as unknown as Runtime, playing: plays ? this.scenarios.length : 0 }
      this.started.push(started)
      if (!plays) return
      for (const scenario of this.scenarios) {
        watch(scenario, host).catch((error) => this.#failed(process, scenario, error))
        play(scenario, host)
          .catch((error) => this.#failed(process, scenario, error))
          .finally(() => (started.playing -= 1))
      }
    })
    return started
  }

  kill(process: SimulatedProcess): void {
    process.kill()
    const [effects, told] = [[...this.effects], [...this.told]]
    // The store reads in one go, so this is the log of this very moment.
    const logs = this.scenarios.map(async (scenario) => {
      const log = await this.log(scenario)
      const id = this.idOf(scenario)
      return { log, effects: effects.filter((one) => one.id === id), told: told.filter((one) => one.id === id) }
    })
    this.moments.push(Promise.all(logs))
    this.examinations.push(faultsIn(this.data))
  }

  /** Until nothing happens any more without time passing. */
  async settle(): Promise<void> {
    for (let quiet = 0; quiet < 3; quiet++) {
      const before = this.activity
      await new Promise((resolve) => setImmediate(resolve))
      if (this.activity !== before) quiet = 0
    }
  }

  #host(process: SimulatedProcess, runtime: () => Runtime): Host {
    return {
      name: process.name,
      isAlive: () => !process.isDead,
      idOf: this.idOf,
      chat: (scenario) => runtime().conversation(this.idOf(scenario), { agent: scenario.name }) as Conversation,
      effect: (effect) => {
        if (!process.isDead) this.#note(this.effects, effect)
      },
      tell: (told) => {
        if (!process.isDead) this.#note(this.told, told)
      },
      asked: (scenario, prompt) => {
        if (process.isDead) return
        const problems = checkPrompt(prompt).map((problem) => `${scenario.name}: a prompt is not legal: ${problem}`)
        this.problems.push(...problems)
      },
      pause: () => new Promise((resolve) => process.clock(this.clock).after(this.#pauseMs(), resolve)),
      isStoreAway: () => this.outage.hasBegun,
      die: () => {
        if (!process.isDead) this.#die(process)
      },
      haveOthersEnded: async (scenario) => {
        const others = this.scenarios.filter((other) => other !== scenario && !other.isPoison)
        const logs = await Promise.all(others.map((other) => this.log(other)))
        return logs.every(isAtEnd)
      },
    }
  }

  #pauseMs(): number {
    return this.outage.isOn ? longPauseMs : pauseMs
  }

  #note<T>(list: T[], item: T): void {
    list.push(item)
    this.activity += 1
  }

  #failed(process: SimulatedProcess, scenario: Scenario, error: unknown): void {
    if (process.isDead) return
    this.problems.push(
      `${scenario.name}: a participant could not go on: ${error instanceof Error ? error.stack : error}`,
    )
  }

  #complaint(message: string, details: object | undefined): void {
    const process = SimulatedProcess.current()
    if (process?.isDead) return
    const { error } = (details ?? {}) as { error?: unknown }
    // A store that fails is part of the plan, and so is one that ends its processes.
    if (error instanceof StoreError || message.startsWith('a conversation was quarantined')) return
    this.problems.push(`an error was logged: ${message}: ${error instanceof Error ? error.stack : String(error)}`)
  }
}

/** Whether the last turn has ended. People may name a conversation and leave notes in it afterwards. */
export function isAtEnd(log: readonly LogEvent[]): boolean {
  return log.findLast(({ type }) => type !== 'titled' && type !== 'note' && type !== 'state_set')?.type === 'turn_ended'
}
