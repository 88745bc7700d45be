import { childFailpoints, failpoints } from '../../src/base/failpoint.ts'
import { type SeededRandom, seededRandom } from '../faults/harness/seeded-random.ts'
import { type Crash, foreignActions, type Plan } from './plan.ts'
import { randomPlan } from './random-plan.ts'
import { scenarios } from './scenarios/all-scenarios.ts'
import { childScenarios } from './scenarios/child-scenarios.ts'
import type { Scenario } from './scenarios/scenario.ts'
import { patient, poison } from './scenarios/special-scenarios.ts'
import { Tally } from './tally.ts'
import type { Passings } from './world.ts'

export type CampaignOptions = {
  readonly seed: number
  /** Runs with several things going wrong at random, beside those that go through everything one by one. */
  readonly runs: number
  /** How many pairs of passings of each scenario, about; beside one for every pair of failpoints. Default: none. */
  readonly pairs?: number
  /** Of the runs that go through every step with something else than a crash; below 1, crashes are tried at the first and last passing only. */
  readonly share?: number
}

/**
 * A crash at every passing of every failpoint; a second one after it; appends, stalls, failures and lost leases at every step; a poison beside each; a store
 * that fails for long, from several commits on; and all of it at random.
 */
export async function campaign({ seed, runs, pairs = 0, share = 1 }: CampaignOptions): Promise<Tally> {
  const tally = new Tally()
  const random = seededRandom(seed)
  const second: SecondCrash[] = []
  for (const scenario of [...scenarios, ...childScenarios]) {
    const { lives, steps, writes, leases } = await tally.run({ scenarios: [scenario] })
    for (const first of share < 1 ? endsOf(lives[0]!) : crashesAt(lives[0]!)) {
      const report = await tally.run({ scenarios: [scenario], crashes: [first] })
      for (const next of crashesAt(report.lives[1]!)) second.push({ scenario, crashes: [first, next] })
    }
    for (const plan of disturbances(scenario, { steps, writes, leases }))
      if (random.chance(share)) await tally.run(plan)
  }
  const chosen = new Set([...somePerScenario(second, pairs, random), ...onePerPair(second, random)])
  for (const { scenario, crashes } of chosen) await tally.run({ scenarios: [scenario], crashes })
  for (let run = 0; run < runs; run++) await tally.run(randomPlan(random))
  return tally
}

type SecondCrash = { readonly scenario: Scenario; readonly crashes: readonly [Crash, Crash] }

/** Every passing of a life, as a place to crash at. */
export function crashesAt(life: Passings): Crash[] {
  return [...failpoints, ...childFailpoints].flatMap((failpoint) =>
    Array.from({ length: life[failpoint] }, (_, index) => ({ failpoint, nth: index + 1 })),
  )
}

function endsOf(life: Passings): Crash[] {
  return crashesAt(life).filter(({ failpoint, nth }) => nth === 1 || nth === life[failpoint])
}

type Counted = { readonly steps: number; readonly writes: number; readonly leases: number }

function disturbances(scenario: Scenario, { steps, writes, leases }: Counted): Plan[] {
  const alone = { scenarios: [scenario] }
  const upTo = (length: number): number[] => Array.from({ length }, (_, index) => index + 1)
  const everyStep = upTo(steps)
  const everyWrite = upTo(writes)
  return [
    ...everyStep.flatMap((step) => foreignActions.map((action) => ({ ...alone, foreign: [{ action, step }] }))),
    ...everyStep.flatMap((step) => [1, 4, 12, 1_000].map((steps) => ({ ...alone, stall: { step, steps } }))),
    ...everyWrite.flatMap((write) => [true, false].map((isMade) => ({ ...alone, failures: [{ write, isMade }] }))),
    // One more: the other scenario has its own.
    ...upTo(leases + 1).map((lost) => ({ scenarios: [scenario, patient], lostLeases: [lost] })),
    ...[1, 2].map((workers) => ({ scenarios: [scenario, poison], workers })),
    ...outages(scenario, writes),
  ]
}

/** From the first commit of an owner on, and from two later ones; for one conversation, its child agents, or everything. */
function outages(scenario: Scenario, writes: number): Plan[] {
  const of = [`c-${scenario.name}`, 'everything', ...(scenario.hasHelper ? ['children'] : [])]
  const beside = { scenarios: [scenario, scenarios.find(({ name }) => name !== scenario.name)!] }
  const begin = [0, 1, Math.floor(writes / 2)]
  const both = [true, false]
  const passing = begin.flatMap((after) =>
    both.flatMap((isLasting) =>
      of.map((of) => ({ ...beside, outage: { of, after, forMs: 4_000, isLasting }, workers: 1 + (after % 2) })),
    ),
  )
  const forGood = both.map((isLasting) => ({
    ...beside,
    outage: { of: `c-${scenario.name}`, after: 1, forMs: null, isLasting },
  }))
  return [...passing, ...forGood]
}

function somePerScenario(all: readonly SecondCrash[], most: number, random: SeededRandom): SecondCrash[] {
  return [...Map.groupBy(all, ({ scenario }) => scenario.name).values()].flatMap((group) => {
    const share = most / group.length
    return share >= 1 ? group : group.filter(() => random.chance(share))
  })
}

function onePerPair(all: readonly SecondCrash[], random: SeededRandom): SecondCrash[] {
  const name = ({ crashes: [first, second] }: SecondCrash): string => `${first.failpoint} ${second.failpoint}`
  const known = new Set<string>(failpoints)
  const ofAll = all.filter(({ crashes }) => crashes.every(({ failpoint }) => known.has(failpoint)))
  return [...Map.groupBy(ofAll, name).values()].map((group) => random.pick(group))
}
