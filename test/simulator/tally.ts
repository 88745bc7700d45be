import { childFailpoints, type Failpoint, failpoints } from '../../src/base/failpoint.ts'
import type { Plan } from './plan.ts'
import { type Report, simulate } from './simulate.ts'

/** What went wrong, of each kind. */
const counted = [
  ...(['appended', 'stalled', 'failed', 'lostCommits', 'lostResolutions'] as const),
  ...(['zombies', 'childZombies', 'tellingZombies', 'refused'] as const),
]

type Counts = Record<'runs' | 'crashes' | 'outages' | (typeof counted)[number], number>

/** Runs plans and adds up what they came to. */
export class Tally {
  readonly violations: string[] = []
  readonly #pairs = new Set<string>()
  readonly #hits = new Map<Failpoint, number>()
  readonly #counts = {
    runs: 0,
    crashes: 0,
    outages: 0,
    ...Object.fromEntries(counted.map((name) => [name, 0])),
  } as Counts

  async run(plan: Plan): Promise<Report> {
    const report = await simulate(plan)
    this.violations.push(...report.problems)
    this.#counts.runs += 1
    this.#counts.outages += report.refused > 0 ? 1 : 0
    for (const name of counted) this.#counts[name] += report[name]
    for (const [index, name] of report.crashes.entries()) {
      this.#counts.crashes += 1
      this.#hits.set(name, (this.#hits.get(name) ?? 0) + 1)
      if (index > 0) this.#pairs.add(pairName(report.crashes[index - 1]!, name))
    }
    return report
  }

  hasPair(first: Failpoint, second: Failpoint): boolean {
    return this.#pairs.has(pairName(first, second))
  }

  summary() {
    const all = failpoints.flatMap((first) => failpoints.map((second) => pairName(first, second)))
    const missing = all.filter((name) => !this.#pairs.has(name))
    const everywhere = [...failpoints, ...childFailpoints]
    const hits = Object.fromEntries(everywhere.map((name) => [name, this.#hits.get(name) ?? 0]))
    const neverHit = everywhere.filter((name) => !this.#hits.has(name))
    const neverDone = counted.filter((name) => this.#counts[name] === 0)
    return { ...this.#counts, pairs: all.length - missing.length, missingPairs: missing, hits, neverHit, neverDone }
  }
}

function pairName(first: Failpoint, second: Failpoint): string {
  return `${first}, ${second}`
}
