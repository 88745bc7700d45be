import { expect, test, vi } from 'vitest'
import type { Plan } from './plan.ts'
import { scenarios } from './scenarios/all-scenarios.ts'
import { childScenarios } from './scenarios/child-scenarios.ts'
import { simulate } from './simulate.ts'

/** Plans that once broke a promise. */

const only = (name: string): Pick<Plan, 'scenarios'> => ({
  scenarios: scenarios.filter((scenario) => scenario.name === name),
})

test('a call whose start was written runs although the store fails again and again before it says so', async () => {
  for (const isMade of [true, false]) {
    for (const write of [2, 3, 4, 5]) {
      const failures = [
        { write, isMade: true },
        { write: write + 1, isMade },
      ]
      expect((await simulate({ ...only('tools-one-by-one'), failures })).problems).toEqual([])
    }
  }
})

test('a process that lost a conversation while it read its log does not call the model for it', async () => {
  for (let step = 1; step <= 12; step++) {
    const plan: Plan = {
      ...only('durable-hook'),
      foreign: [
        { action: 'cancel', step: step + 7 },
        { action: 'interrupt', step: step + 8 },
      ],
      stall: { step, steps: 11 },
      workers: 3,
    }
    expect((await simulate(plan)).problems).toEqual([])
  }
})

test('the turn of a key that is sent again is known although a summary has put it away', async () => {
  const crashes = [{ failpoint: 'cancel.after_commit' as const, nth: 1 }]
  expect((await simulate({ ...only('summed-up'), crashes })).problems).toEqual([])
})

test('a child agent that could not be read is read again by the clock of the runtime, and people hear what it waits for', async () => {
  const real = setTimeout
  // No time passes but the simulated: a timer of the machine does not come.
  vi.stubGlobal('setTimeout', (work: () => void, ms?: number) => real(work, ms === 500 ? 3_600_000 : ms).unref())
  const approved = childScenarios.find(({ name }) => name === 'helper-approved')!
  const outage = { of: 'everything', after: 1, forMs: 4_000, isLasting: true }
  try {
    expect((await simulate({ scenarios: [approved, scenarios[0]!], outage, workers: 2 })).problems).toEqual([])
  } finally {
    vi.unstubAllGlobals()
  }
})

test('a turn that two processes try again with one key is tried again once, and both go on with it', async () => {
  for (const step of [19, 20, 146, 147])
    expect((await simulate({ ...only('long-day'), stall: { step, steps: 1_000 } })).problems).toEqual([])
})
