import { expect } from 'vitest'
import type { BrokenRule, Plan } from './plan.ts'
import { simulate } from './simulate.ts'

export async function problemsOf(plans: readonly Plan[]): Promise<string> {
  const reports: string[] = []
  for (const plan of plans) reports.push(...(await simulate(plan)).problems)
  return reports.join('\n')
}

/** With the rule nothing is wrong; without it, something is. */
export async function expectMissed(rule: BrokenRule, plans: readonly Plan[], problem: RegExp): Promise<void> {
  expect(await problemsOf(plans)).toBe('')
  expect(await problemsOf(plans.map((plan) => ({ ...plan, broken: rule })))).toMatch(problem)
}
