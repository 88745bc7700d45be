import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { childFailpoints, type Failpoint, failpoints } from '../../src/base/failpoint.ts'
import { checkFamilies } from './child-crashes/check-family.ts'
import { play, startFamily } from './child-crashes/family.ts'
import type { LifeInput, LifeMessage } from './child-crashes/live-and-die.ts'
import { untilAtRest } from './child-crashes/until-at-rest.ts'
import { EffectsFile } from './crash-matrix/effects-file.ts'
import { untilNobodyIsConnected } from './harness/client-backends.ts'
import { progress, runCommand } from './harness/command.ts'
import { examined } from './harness/examined.ts'
import { type SeededRandom, seededRandom } from './harness/seeded-random.ts'
import { spawnChild } from './harness/spawn-child.ts'
import { openStore, type Target } from './harness/target.ts'
import { type Finding, judge, type Verdict } from './harness/verdict.ts'
import { type Place, withFolder, withTarget } from './harness/with-target.ts'

type CrashOptions = Place & {
  readonly seed: number
  /** Kills; at least one at each failpoint. Default: 96. */
  readonly rounds?: number
  /** At every passing of every failpoint. */
  readonly full?: boolean
  /** Default: all of them. */
  readonly at?: readonly Failpoint[]
}

type Crash = LifeInput['crash']

const patienceMs = 20_000

/** A process with two parents of two child agents each is killed at every failpoint that a family passes, and another brings them all to the end they would have had. */
export async function childCrashes(options: CrashOptions): Promise<Verdict> {
  const { store, seed, full = false, rounds = 96 } = options
  const at = options.at ?? [
    ...failpoints.filter((name) => !/^(state|rename|retry)\.|after_break$/.test(name)),
    ...childFailpoints,
  ]
  const share = full ? Number.POSITIVE_INFINITY : Math.max(1, Math.floor(rounds / at.length))
  const find = (): Promise<Finding> =>
    withTarget(options, (target) =>
      withFolder((folder) => examined(target, new Crashes(target, folder, seed).run(at, share))),
    )
  return judge({ program: 'child-crashes', store, seed }, [{ name: 'kill', find }])
}

class Crashes {
  readonly #target: Target
  readonly #effects: EffectsFile
  readonly #effectsFile: string
  readonly #random: SeededRandom
  readonly #hits = new Map<Failpoint, number>()
  readonly #violations: string[] = []
  #cycles = 0

  constructor(target: Target, folder: string, seed: number) {
    this.#target = target
    this.#effectsFile = join(folder, 'effects')
    this.#effects = new EffectsFile(this.#effectsFile)
    this.#effects.create()
    this.#random = seededRandom(seed)
  }

  async run(at: readonly Failpoint[], share: number): Promise<Finding> {
    const passings = await this.#cycle(null)
    if (!passings) return this.#finding(['the stories could not be told without a crash'])
    const crashes = at.flatMap((failpoint) => this.#crashesAt(failpoint, passings[failpoint] ?? 0, share))
    for (const [index, crash] of crashes.entries()) {
      await this.#killAt(crash)
      if ((index + 1) % 20 === 0)
        progress(`child-crashes ${this.#target.store}: ${index + 1} of ${crashes.length} kills`)
    }
    const neverHit = at.filter((failpoint) => !this.#hits.has(failpoint))
    return this.#finding(neverHit.map((failpoint) => `no process died at '${failpoint}'`))
  }

  #crashesAt(failpoint: Failpoint, passings: number, share: number): NonNullable<Crash>[] {
    const all = Array.from({ length: passings }, (_, index) => index + 1)
    if (all.length <= share) return all.map((nth) => ({ failpoint, nth }))
    const chosen = new Set<number>()
    while (chosen.size < share) chosen.add(this.#random.pick(all))
    return [...chosen].map((nth) => ({ failpoint, nth }))
  }

  /** Two runs do not pass equally often: where the process lives on, an earlier passing is tried. */
  async #killAt({ failpoint, nth: wanted }: NonNullable<Crash>): Promise<void> {
    for (let nth = wanted; nth >= 1; ) {
      const passings = await this.#cycle({ failpoint, nth })
      if (!passings) return
      nth = Math.min(nth - 1, passings[failpoint] ?? 0)
    }
  }

  /** How often each failpoint was passed when the process lived to the end; null when it did not. */
  async #cycle(crash: Crash): Promise<Readonly<Record<string, number>> | null> {
    const prefix = `${++this.#cycles}-`
    const problems: string[] = []
    let passings: Readonly<Record<string, number>> | null = null
    const input: LifeInput = { target: this.#target, effectsFile: this.#effectsFile, prefix, crash }
    const child = spawnChild<LifeMessage>({
      script: new URL('./child-crashes/live-and-die.ts', import.meta.url),
      input,
      onMessage: (message) => {
        if (message.type === 'problem') problems.push(message.problem)
        else passings = message.passings
      },
    })
    const late = setTimeout(() => child.kill(), 60_000)
    const end = await child.ended
    clearTimeout(late)
    await untilNobodyIsConnected(this.#target)
    if (end.signal !== 'SIGKILL' && passings === null) problems.push(`it ended with ${end.code}: ${end.complaint}`)
    problems.push(...(await this.#revive(prefix, passings !== null)))
    if (crash && passings === null) this.#hits.set(crash.failpoint, (this.#hits.get(crash.failpoint) ?? 0) + 1)
    const where = crash ? `killed at ${crash.failpoint} ${crash.nth}` : 'not killed'
    this.#violations.push(...problems.map((problem) => `cycle ${this.#cycles}, ${where}: ${problem}`))
    return passings
  }

  async #revive(prefix: string, isTold: boolean): Promise<string[]> {
    const problems: string[] = []
    const store = await openStore(this.#target)
    if (!isTold) {
      const effect = (id: string): void => this.#effects.append({ id } as never)
      const options = { store, leaseMs: 5_000, effect, problem: (text: string) => problems.push(text) }
      const worker = startFamily(options)
      // People are elsewhere, so that their retries wake no process: the remaining work must be found.
      const elsewhere = startFamily({ ...options, work: false })
      if (!(await within(patienceMs, play(elsewhere, prefix)))) problems.push('it never came to its end')
      problems.push(...(await untilAtRest(store, prefix)).map((id) => `${id} never came to rest`))
      await elsewhere.close({ drainMs: 0 })
      await worker.close({ drainMs: 0 })
    }
    const acted = this.#effects.read().map(({ id }) => id)
    problems.push(...(await checkFamilies(store, prefix, acted)))
    await store.close()
    return problems
  }

  #finding(notExercised: readonly string[]): Finding {
    const killed = [...this.#hits.values()].reduce((sum, times) => sum + times, 0)
    const counts = { cycles: this.#cycles, killed, failpoints: this.#hits.size, hits: Object.fromEntries(this.#hits) }
    return { violations: this.#violations, notExercised, counts }
  }
}

/** False when it takes longer. */
async function within(ms: number, work: Promise<void>): Promise<boolean> {
  const controller = new AbortController()
  const late = sleep(ms, false, { signal: controller.signal })
  try {
    return await Promise.race([work.then(() => true), late])
  } finally {
    controller.abort()
  }
}

await runCommand(import.meta, childCrashes)
