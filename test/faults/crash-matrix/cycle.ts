import { callPhase } from '../../../src/log/call-phase.ts'
import type { LogEvent } from '../../../src/log/events.ts'
import { foldEvents } from '../../../src/log/fold-events.ts'
import type { Store } from '../../../src/store/store.ts'
import type { Crash } from '../../simulator/plan.ts'
import { checkConversation, checkMoment, type Moment } from '../../simulator/promises/check-conversation.ts'
import { checkRest } from '../../simulator/promises/check-rest.ts'
import type { Scenario, Told } from '../../simulator/scenarios/scenario.ts'
import { untilNobodyIsConnected } from '../harness/client-backends.ts'
import { openStore, type Target } from '../harness/target.ts'
import { approveBeforehand } from './approve-beforehand.ts'
import type { EffectsFile } from './effects-file.ts'
import { lapseLeases } from './lapse-leases.ts'
import { type LifeOptions, startLife } from './life.ts'
import { matrixScenarios } from './matrix-scenarios.ts'
import { untilAtRest } from './until-at-rest.ts'
import type { ChildLife, WarmChild } from './warm-child.ts'

export type Cycle = {
  readonly target: Target
  readonly effects: EffectsFile
  readonly child: WarmChild
  readonly prefix: string
  readonly crash: Crash | null
  /** A store that stays open here while the child lives and dies. */
  readonly hasBystander: boolean
}

export type CycleResult = {
  readonly problems: readonly string[]
  readonly isKilled: boolean
  readonly passings: ChildLife['passings']
  /** Calls that were under way when the child died. */
  readonly interrupted: number
}

/** A child tells the scenarios until it is killed; then this process revives them, tells them to their end, and looks at what there is. */
export async function cycle({ target, effects, child, prefix, crash, hasBystander }: Cycle): Promise<CycleResult> {
  const problems: string[] = []
  const told: Told[] = []
  const reports: Omit<LifeOptions, 'store'> = {
    prefix,
    leaseMs: 5_000,
    effect: (effect) => effects.append(effect),
    tell: (one) => told.push(one),
    problem: (problem) => problems.push(problem),
  }
  const first = await openStore(target)
  await approveBeforehand(first, reports)
  if (!hasBystander) await first.close()
  const life = await child.live(prefix, crash)
  await untilNobodyIsConnected(target)
  await lapseLeases(target)
  told.push(...life.told)
  problems.push(...life.problems)
  const store = hasBystander ? first : await openStore(target)
  const atDeath = await moments(store, prefix, effects, told)
  const interrupted = new Set(atDeath.flatMap(({ log }) => callsUnderWay(log)))
  if (life.passings === null) problems.push(...(await revive(store, reports)))
  problems.push(...(await findings(store, prefix, atDeath, await moments(store, prefix, effects, told), interrupted)))
  await store.close()
  const isKilled = life.end.signal === 'SIGKILL'
  if (!isKilled && life.passings === null) problems.push(`the child ended with ${life.end.code}: ${life.end.complaint}`)
  return { problems, isKilled, passings: life.passings, interrupted: interrupted.size }
}

async function revive(store: Store, reports: Omit<LifeOptions, 'store'>): Promise<string[]> {
  const life = startLife({ ...reports, store })
  await life.play()
  const restless = await untilAtRest(store, reports.prefix)
  await life.close()
  return restless.map((name) => `${name}: it never came to rest`)
}

async function moments(
  store: Store,
  prefix: string,
  effects: EffectsFile,
  told: readonly Told[],
): Promise<(Moment & { readonly scenario: Scenario })[]> {
  const happened = effects.read()
  return await Promise.all(
    matrixScenarios.map(async (scenario) => {
      const id = `${prefix}${scenario.name}`
      const own = <T extends { readonly id: string }>(all: readonly T[]) => all.filter((one) => one.id === id)
      return { scenario, log: await store.streamEvents(id), effects: own(happened), told: own(told) }
    }),
  )
}

async function findings(
  store: Store,
  prefix: string,
  atDeath: readonly Moment[],
  atRest: readonly (Moment & { readonly scenario: Scenario })[],
  interrupted: ReadonlySet<string>,
): Promise<string[]> {
  const problems: string[] = []
  for (const [index, ending] of atRest.entries()) {
    const { scenario, log } = ending
    problems.push(...checkMoment(scenario, atDeath[index]!, log))
    problems.push(...checkConversation({ ...ending, interrupted, isDisturbed: false }))
    const rest = await checkRest(store, `${prefix}${scenario.name}`, log)
    problems.push(...rest.map((problem) => `${scenario.name}: ${problem}`))
  }
  return problems
}

function callsUnderWay(log: readonly LogEvent[]): string[] {
  const open = foldEvents(log).turns.filter((turn) => !turn.end)
  return open
    .flatMap(({ calls }) => calls.filter((call) => callPhase(call).type === 'started'))
    .map(({ callId }) => callId)
}
