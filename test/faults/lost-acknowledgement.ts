import type { Store } from '../../src/store/store.ts'
import { progress, runCommand } from './harness/command.ts'
import { describeFailure } from './harness/failure.ts'
import { type SeededRandom, seededRandom } from './harness/seeded-random.ts'
import { openStore } from './harness/target.ts'
import { type Finding, judge, type Verdict } from './harness/verdict.ts'
import { type Place, withTarget } from './harness/with-target.ts'
import { type CuttingProxy, startCuttingProxy } from './lost-acknowledgement/cutting-proxy.ts'
import { checkLedger } from './workload/check-ledger.ts'
import { type Entry, Ledger } from './workload/ledger.ts'
import {
  advance,
  commitOf,
  type Lane,
  newLane,
  owned,
  type PlannedCommit,
  planLaneCommit,
} from './workload/plan-commit.ts'

export type LostAcknowledgementOptions = Pick<Place, 'postgresUrl'> & {
  readonly seed: number
  /** How many answers are lost, with a key and again without one. Default: 100. */
  readonly rounds?: number
}

/** The connection breaks after the server has committed and before the store hears of it. */
export async function lostAcknowledgement(options: LostAcknowledgementOptions): Promise<Verdict> {
  const { seed, rounds = 100 } = options
  const place = { ...options, store: 'postgres' } as const
  const part = (hasKey: boolean) => (): Promise<Finding> =>
    withTarget(place, async (target) => {
      if (target.store !== 'postgres') throw new Error('only Postgres has a connection to lose')
      return cutRounds(target.url, { seed, rounds, hasKey })
    })
  return judge({ program: 'lost-acknowledgement', store: 'postgres', seed }, [
    { name: 'with key', find: part(true) },
    { name: 'without key', find: part(false) },
  ])
}

type CutOptions = { readonly seed: number; readonly rounds: number; readonly hasKey: boolean }

async function cutRounds(url: string, { seed, rounds, hasKey }: CutOptions): Promise<Finding> {
  const random = seededRandom(seed)
  const proxy = await startCuttingProxy(url)
  const store = await openStore({ store: 'postgres', url: proxy.url })
  const direct = await openStore({ store: 'postgres', url })
  const scene: Scene = { proxy, store, direct, ledger: new Ledger() }
  const violations: string[] = []
  const counts = { cuts: 0, afterCommit: 0, settledByStore: 0, settledByCaller: 0, ambiguous: 0 }
  // The first is the one whose answer is lost; the others commit at the same moment and may share its fate.
  const lanes = ['victim', 'companion1', 'companion2'].map(newLane)
  try {
    for (let round = 0; round < rounds; round++) {
      const planned = lanes.map((lane, index) =>
        planRound(random, lane, round, index === 0 ? hasKey : random.chance(0.5)),
      )
      const { wasCut, wasWritten, entries } = await loseAnswer(scene, planned)
      counts.cuts += wasCut ? 1 : 0
      counts.afterCommit += wasCut && wasWritten ? 1 : 0
      const [victim] = entries
      if (wasCut && !hasKey && !isAmbiguous(victim!)) {
        violations.push(`${victim!.planned.commit} lost its answer, has no key, and was not called ambiguous`)
      }
      counts.ambiguous += entries.filter(isAmbiguous).length
      if (wasCut && hasKey) counts[isAmbiguous(victim!) ? 'settledByCaller' : 'settledByStore'] += 1
      for (const [index, entry] of entries.entries()) {
        if (await isDone(scene, entry)) lanes[index] = await owned(direct, advance(lanes[index]!, entry.planned))
      }
      if (wasWritten && !(await isWritten(direct, planned[0]!))) violations.push(`${planned[0]!.commit} is gone`)
      if ((round + 1) % 25 === 0) progress(`lost acknowledgement: ${round + 1} of ${rounds}`)
    }
    violations.push(...(await checkLedger(direct, scene.ledger)).violations)
    const failures = scene.ledger.failures().filter((failure) => !failure.isStoreError)
    violations.push(...failures.map(({ name, message }) => `the caller met ${name}: ${message}`))
  } finally {
    await store.close()
    await direct.close()
    await proxy.close()
  }
  const missing =
    counts.afterCommit < rounds ? [`${counts.afterCommit} of ${rounds} answers were lost after the commit`] : []
  return { violations, notExercised: missing, counts }
}

type Scene = {
  readonly proxy: CuttingProxy
  /** Through the proxy. */
  readonly store: Store
  readonly direct: Store
  readonly ledger: Ledger
}

function planRound(random: SeededRandom, lane: Lane, round: number, hasKey: boolean): PlannedCommit {
  const commit = `@${lane.conversation}.${round}@`
  for (;;) {
    const planned = planLaneCommit(random, lane, commit, 200)
    if (planned.expects !== 'ok') continue
    const { key: _, digest: __, ...change } = planned.change
    return { ...planned, change: hasKey ? { ...change, key: commit, digest: commit } : change }
  }
}

async function loseAnswer(
  scene: Scene,
  planned: readonly PlannedCommit[],
): Promise<{ wasCut: boolean; wasWritten: boolean; entries: Entry[] }> {
  const victim = planned[0]!
  const cut = scene.proxy.cutAfter(victim.commit)
  const looked = cut.wasCut.then((wasCut) => wasCut && isWritten(scene.direct, victim))
  const entries = await Promise.all(planned.map((commit) => attempt(scene, commit)))
  cut.callOff()
  return { wasCut: await cut.wasCut, wasWritten: await looked, entries }
}

async function attempt({ store, ledger }: Scene, planned: PlannedCommit): Promise<Entry> {
  const { commit, conversation, change } = planned
  const known = ledger.entries.has(commit)
  ledger.hear(known ? { type: 'repeat', commit } : { type: 'begin', planned })
  try {
    ledger.hear({ type: 'answer', commit, result: await store.commit(conversation, change) })
  } catch (error) {
    ledger.hear({ type: 'failed', commit, failure: describeFailure(error) })
  }
  return ledger.entries.get(commit)!
}

function isAmbiguous({ failures }: Entry): boolean {
  return failures.some((failure) => failure.isStoreError && failure.isAmbiguous)
}

/** What a caller does about an answer it did not get: send the key again, or look into the log. */
async function isDone(scene: Scene, entry: Entry): Promise<boolean> {
  const { planned, answers } = entry
  if (answers.length > 0) return true
  if (planned.change.key === undefined) return isWritten(scene.direct, planned)
  return (await attempt(scene, planned)).answers.length > 0
}

async function isWritten(store: Store, { commit, conversation }: PlannedCommit): Promise<boolean> {
  const events = await store.streamEvents(conversation)
  return events.some((event) => commitOf(event) === commit)
}

await runCommand(import.meta, lostAcknowledgement)
