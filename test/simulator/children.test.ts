import { afterEach, expect, test, vi } from 'vitest'
import { type ConversationState, openTurn } from '../../src/log/state.ts'
import type { Plan } from './plan.ts'
import { expectMissed, problemsOf } from './problems-of.ts'
import { childScenarios } from './scenarios/child-scenarios.ts'
import { patient } from './scenarios/special-scenarios.ts'
import { simulate } from './simulate.ts'

vi.setConfig({ testTimeout: 120_000 })

/** Processes that lost a child agent and come back, and leases that no process knows of. Each rule that is switched off must be missed. */

const off = vi.hoisted(() => ({ endFirst: false, untilTold: false }))

afterEach(() => {
  off.endFirst = false
  off.untilTold = false
})

vi.mock('../../src/engine/child/child-calls.ts', async (original) => {
  const real = await original<typeof import('../../src/engine/child/child-calls.ts')>()
  class ChildCalls extends real.ChildCalls {
    override areOwed(state: ConversationState): boolean {
      return super.areOwed(state) && !(off.untilTold && openTurn(state) === null)
    }
  }
  return { ...real, ChildCalls }
})

vi.mock('../../src/engine/turn/owner.ts', async (original) => {
  const real = await original<typeof import('../../src/engine/turn/owner.ts')>()
  class Owner extends real.Owner {
    override async commit(...change: Parameters<InstanceType<typeof real.Owner>['commit']>): Promise<boolean> {
      // What is decided is told, and only then committed.
      if (off.endFirst) await this.attempt('telling failed', () => this.children.settle(change[1]))
      return super.commit(...change)
    }
  }
  return { ...real, Owner }
})

const named = (...names: string[]): Plan['scenarios'] => childScenarios.filter(({ name }) => names.includes(name))

const upTo = (most: number): number[] => Array.from({ length: most }, (_, index) => index + 1)

/** A process that stops at each step, and goes on when others have made so many. */
async function zombiesOf(scenarios: Plan['scenarios'], ...stalls: number[]): Promise<Plan[]> {
  const { steps } = await simulate({ scenarios })
  return upTo(steps).flatMap((step) => stalls.map((steps) => ({ scenarios, stall: { step, steps } })))
}

test('a process that lost a child agent and comes back, also while it tells the parent, changes nothing', async () => {
  const counts = { zombies: 0, childZombies: 0, tellingZombies: 0 }
  for (const scenario of childScenarios) {
    for (const plan of await zombiesOf([scenario], 1_000, ...(scenario.name === 'delegated' ? [10] : []))) {
      const report = await simulate(plan)
      expect(report.problems).toEqual([])
      for (const name of ['zombies', 'childZombies', 'tellingZombies'] as const) counts[name] += report[name]
    }
  }
  expect(counts.zombies).toBeGreaterThan(40)
  expect(counts.childZombies).toBeGreaterThan(20)
  expect(counts.tellingZombies).toBeGreaterThan(3)
})

test('a process that tells the parent before the end of the child is in its log tells what is not so', async () => {
  const plans = await zombiesOf(named('delegated'), 7)
  plans.push({ scenarios: named('delegated'), crashes: [{ failpoint: 'child.after_resolve_parent', nth: 1 }] })
  off.endFirst = true
  const problems = await problemsOf(plans)
  expect(problems).toMatch(/a parent is told too soon/)
  expect(problems).toMatch(/^parent and child disagree/m)
})

test('a child that is let go before its parent knows leaves the parent waiting', async () => {
  off.untilTold = true
  expect(await problemsOf([{ scenarios: named('delegated') }])).toMatch(/never came to rest/)
})

test('a parent whose call is not guarded hears of its child twice', async () => {
  const plans = await zombiesOf(named('delegated'), 1_000)
  await expectMissed('a round is resolved once', plans, /resolution 1 of .* is in the log 2 times/)
})

test('the owner of a child that does not name its epoch writes into what others do', async () => {
  const plans = await zombiesOf(named('delegated'), 10, 12, 16, 20)
  await expectMissed('an owner names its epoch', plans, /neither the one without a crash nor excused/)
})

test('a lease that came with the end of a child, and whose acknowledgement was lost, does not stand in the way', async () => {
  const scenarios = [patient, ...named('delegated', 'two-helpers')]
  const { leases } = await simulate({ scenarios })
  const plans = upTo(leases).map((lost) => ({ scenarios, lostLeases: [lost] }))
  const ends: Plan[] = []
  for (const plan of plans) {
    const report = await simulate(plan)
    expect(report.problems).toEqual([])
    if (report.lostResolutions > 0) ends.push(plan)
  }
  expect(ends.length).toBeGreaterThan(0)
  await expectMissed('a process renews only the leases it knows', ends, /never came to rest/)
})
