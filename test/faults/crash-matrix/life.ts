import { setTimeout as sleep } from 'node:timers/promises'
import { silentLogger } from '../../../src/base/logger.ts'
import type { Conversation } from '../../../src/runtime/conversation.ts'
import { createRuntime } from '../../../src/runtime/create-runtime.ts'
import type { Store } from '../../../src/store/store.ts'
import { checkPrompt } from '../../simulator/promises/check-prompt.ts'
import { play, watch } from '../../simulator/scenarios/people.ts'
import type { Effect, Host, Scenario, Told } from '../../simulator/scenarios/scenario.ts'
import { scenarioAgent } from '../../simulator/scenarios/scenario-agent.ts'
import { matrixScenarios } from './matrix-scenarios.ts'

export type LifeOptions = {
  readonly store: Store
  readonly prefix: string
  /** Default: all of them. */
  readonly scenarios?: readonly Scenario[]
  /** How long others wait when this process dies. */
  readonly leaseMs: number
  /** False: it takes messages and answers and runs nothing. Default: true. */
  readonly work?: boolean
  readonly effect: (effect: Effect) => void
  readonly tell: (told: Told) => void
  readonly problem: (problem: string) => void
}

export type Life = {
  readonly host: Host
  /** Tells every scenario to its end, all at once, from wherever it stands. */
  play(): Promise<void>
  close(): Promise<void>
}

/** What runs in a process of the matrix: a runtime, and the people at it. */
export function startLife(options: LifeOptions): Life {
  const { store, prefix, scenarios = matrixScenarios, leaseMs, work = true, ...reports } = options
  const idOf = (scenario: Scenario): string => `${prefix}${scenario.name}`
  const host: Host = {
    name: `worker ${process.pid}`,
    isAlive: () => true,
    isStoreAway: () => false,
    idOf,
    chat: (scenario) => runtime.conversation(idOf(scenario), { agent: scenario.name }) as Conversation,
    effect: reports.effect,
    tell: reports.tell,
    asked: (scenario, prompt) => {
      for (const problem of checkPrompt(prompt)) reports.problem(`${scenario.name}: a prompt is not legal: ${problem}`)
    },
    pause: () => sleep(5),
    die: () => process.kill(process.pid, 'SIGKILL'),
    haveOthersEnded: async () => true,
  }
  const logger = {
    ...silentLogger,
    error: (message: string, details?: object) =>
      reports.problem(`an error was logged: ${message} ${errorIn(details)}`),
  }
  const agents = scenarios.map((scenario) => scenarioAgent(scenario, host))
  const runtime = createRuntime({ agents, store, leaseMs, pollMs: 20, work, logger })
  const failed = (scenario: Scenario) => (error: unknown) =>
    reports.problem(`${scenario.name}: a participant could not go on: ${error instanceof Error ? error.stack : error}`)
  return {
    host,
    async play() {
      for (const scenario of scenarios) watch(scenario, host).catch(failed(scenario))
      await Promise.all(scenarios.map((scenario) => play(scenario, host).catch(failed(scenario))))
    },
    close: () => runtime.close({ drainMs: 0 }),
  }
}

function errorIn(details: object | undefined): string {
  const { error } = (details ?? {}) as { readonly error?: unknown }
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
