import { type Failpoint, onFailpoint } from '../../src/base/failpoint.ts'
import { describePlan, type Plan } from './plan.ts'
import { Simulation } from './simulation.ts'
import type { Passings } from './world.ts'

export type Report = {
  /** What broke a promise, with the plan that shows it. */
  readonly problems: readonly string[]
  /** How often each failpoint was passed: before the first crash, between it and the second, and so on. */
  readonly lives: readonly Passings[]
  /** Where processes died. */
  readonly crashes: readonly Failpoint[]
  readonly steps: number
  readonly writes: number
  /** Of the writes, those that take a lease. */
  readonly leases: number
  readonly appended: number
  readonly stalled: number
  readonly failed: number
  /** Of the leases whose acknowledgement was lost, those that came with a commit, and with the end of a child agent. */
  readonly lostCommits: number
  readonly lostResolutions: number
  /** Stalled processes that went on after another had taken what they held: anything, a child agent, one about to tell its parent. */
  readonly zombies: number
  readonly childZombies: number
  readonly tellingZombies: number
  /** Calls that were refused by a store that failed for long. */
  readonly refused: number
}

/** One run of a plan to its end. Must not run beside another: failpoints have one listener. */
export async function simulate(plan: Plan): Promise<Report> {
  const simulation = new Simulation(plan)
  onFailpoint((name) => simulation.passed(name))
  try {
    const report = await simulation.run()
    return { ...report, problems: report.problems.map((problem) => `${problem} (${describePlan(plan)})`) }
  } finally {
    onFailpoint(null)
  }
}
