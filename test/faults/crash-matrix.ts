import { join } from 'node:path'
import { type Failpoint, failpoints } from '../../src/base/failpoint.ts'
import type { Crash } from '../simulator/plan.ts'
import { cycle } from './crash-matrix/cycle.ts'
import { EffectsFile } from './crash-matrix/effects-file.ts'
import { WarmChild } from './crash-matrix/warm-child.ts'
import { progress, runCommand } from './harness/command.ts'
import { examined } from './harness/examined.ts'
import { type SeededRandom, seededRandom } from './harness/seeded-random.ts'
import type { Target } from './harness/target.ts'
import { type Finding, judge, type Verdict } from './harness/verdict.ts'
import { type Place, withFolder, withTarget } from './harness/with-target.ts'

const standardCycles = { sqlite: 108, postgres: 36 }

type MatrixOptions = Place & {
  readonly seed: number
  /** At least one for each failpoint is made, and no more than it is passed. */
  readonly rounds?: number
  /** At every passing. */
  readonly full?: boolean
  /** Default: all of them. */
  readonly at?: readonly Failpoint[]
}

/**
 * A process that tells a dozen and a half conversations is killed at every failpoint, and another revives them: whatever it was told is
 * true, every call and turn ends once, and what is read in the end is what would have been read, or says that it is not known.
 */
export async function crashMatrix(options: MatrixOptions): Promise<Verdict> {
  const { store, seed, full = false, at = failpoints } = options
  const cycles = full ? Number.POSITIVE_INFINITY : (options.rounds ?? standardCycles[store])
  const find = (): Promise<Finding> =>
    withTarget(options, (target) =>
      withFolder((folder) => examined(target, new Matrix(target, folder, seed).run(cycles, at))),
    )
  return judge({ program: 'crash-matrix', store, seed }, [{ name: 'kill', find }])
}

class Matrix {
  readonly #target: Target
  readonly #folder: string
  readonly #random: SeededRandom
  readonly #hits = new Map<Failpoint, number>()
  readonly #violations: string[] = []
  readonly #counts = { cycles: 0, killed: 0, interruptedCalls: 0, livedOn: 0 }
  #next: WarmChild

  constructor(target: Target, folder: string, seed: number) {
    this.#target = target
    this.#folder = folder
    this.#random = seededRandom(seed)
    this.#next = this.#warmChild()
  }

  async run(cycles: number, at: readonly Failpoint[]): Promise<Finding> {
    try {
      return await this.#killEverywhere(cycles, at)
    } finally {
      await this.#next.dismiss()
    }
  }

  async #killEverywhere(cycles: number, at: readonly Failpoint[]): Promise<Finding> {
    const passings = await this.#cycle(null)
    if (!passings) return this.#finding(['the scenarios could not be told without a crash'])
    const share = Math.max(1, Math.floor(cycles / at.length))
    const crashes = at.flatMap((failpoint) => this.#crashesAt(failpoint, passings[failpoint]!, share))
    for (const [index, crash] of crashes.entries()) {
      await this.#killAt(crash)
      if ((index + 1) % 20 === 0)
        progress(`crash-matrix ${this.#target.store}: ${index + 1} of ${crashes.length} kills`)
    }
    const neverHit = at.filter((failpoint) => !this.#hits.has(failpoint))
    const missing = neverHit.map((failpoint) => `no process died at '${failpoint}'`)
    if (this.#counts.interruptedCalls === 0) missing.push('no call was under way when its process died')
    return this.#finding(missing)
  }

  /** The first passing, the last, and some between; any one if only one is wanted. */
  #crashesAt(failpoint: Failpoint, passings: number, share: number): Crash[] {
    const all = Array.from({ length: passings }, (_, index) => index + 1)
    const chosen = new Set(share === 1 ? [] : [1, passings])
    while (chosen.size < Math.min(share, passings)) chosen.add(this.#random.pick(all))
    return [...chosen].sort((left, right) => left - right).map((nth) => ({ failpoint, nth }))
  }

  /** Two runs do not pass equally often: where a child lives on, an earlier passing is tried. */
  async #killAt(crash: Crash): Promise<void> {
    for (let { nth } = crash; nth >= 1; ) {
      const passings = await this.#cycle({ ...crash, nth })
      if (!passings) return
      this.#counts.livedOn += 1
      nth = Math.min(nth - 1, passings[crash.failpoint]!)
    }
  }

  /** How often it passed each failpoint when the child lived to the end; null when it did not. */
  async #cycle(crash: Crash | null): Promise<Readonly<Record<string, number>> | null> {
    const child = this.#next
    this.#next = this.#warmChild()
    const n = ++this.#counts.cycles
    const hasBystander = this.#target.store === 'sqlite' && this.#random.chance(0.3)
    const effects = new EffectsFile(this.#effectsFile)
    effects.create()
    const result = await cycle({ target: this.#target, effects, child, prefix: `${n}-`, crash, hasBystander })
    const where = crash ? `killed at ${crash.failpoint} ${crash.nth}` : 'not killed'
    this.#violations.push(...result.problems.map((problem) => `cycle ${n}, ${where}: ${problem}`))
    this.#counts.interruptedCalls += result.interrupted
    if (crash && result.isKilled) {
      this.#counts.killed += 1
      this.#hits.set(crash.failpoint, (this.#hits.get(crash.failpoint) ?? 0) + 1)
    }
    return result.passings
  }

  #warmChild(): WarmChild {
    const cacheFolder = join(this.#folder, 'compiled')
    return new WarmChild({ target: this.#target, effectsFile: this.#effectsFile, cacheFolder })
  }

  get #effectsFile(): string {
    return join(this.#folder, 'effects')
  }

  #finding(notExercised: readonly string[]): Finding {
    const hits = Object.fromEntries(failpoints.map((name) => [name, this.#hits.get(name) ?? 0]))
    return { violations: this.#violations, notExercised, counts: { ...this.#counts, hits } }
  }
}

await runCommand(import.meta, crashMatrix)
