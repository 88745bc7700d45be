import { setTimeout as sleep } from 'node:timers/promises'
import type { Store } from '../../src/store/store.ts'
import { freshDatabase } from '../setup/fresh-database.ts'
import { startPostgres } from '../setup/start-postgres.ts'
import { readKept } from './fleet/facts.ts'
import { FleetNode } from './fleet/fleet-node.ts'
import { emptyHistory } from './fleet/history.ts'
import { Nemesis } from './fleet/nemesis.ts'
import { People } from './fleet/people.ts'
import { brokenRules } from './fleet/rules.ts'
import { Stories } from './fleet/stories.ts'
import { notExercised, Tally } from './fleet/tally.ts'
import { progress, runCommand } from './harness/command.ts'
import { seededRandom } from './harness/seeded-random.ts'
import { openStore } from './harness/target.ts'
import { type Finding, judge, type Verdict } from './harness/verdict.ts'

export type FleetOptions = {
  readonly seed: number
  /** How long faults are brought about, at least: each of them comes once. Default: 2. */
  readonly minutes?: number
}

const leaseMs = 2_000
const drainMs = 1_000
const workers = 3
const apis = 2
const storytellers = { short: 4, long: 8 }

/** From the end of the last fault until everything that was begun must have ended. */
const healedWithinMs = 30_000

/** Three workers and two API nodes over one Postgres, with all that can happen to them. */
export async function fleet({ seed, minutes = 2 }: FleetOptions): Promise<Verdict> {
  return judge({ program: 'fleet', store: 'postgres', seed }, [{ name: 'fleet', find: () => run(seed, minutes) }])
}

async function run(seed: number, minutes: number): Promise<Finding> {
  const postgres = await startPostgres()
  const databaseUrl = await freshDatabase(postgres.url)
  const random = seededRandom(seed)
  const history = emptyHistory()
  const tally = new Tally(history)
  const places = [
    ...Array.from({ length: workers }, (_, index) => ({ name: `worker${index + 1}`, kind: 'worker' as const })),
    ...Array.from({ length: apis }, (_, index) => ({ name: `api${index + 1}`, kind: 'api' as const })),
  ]
  const hear = tally.hear.bind(tally)
  const nodes: FleetNode[] = []
  try {
    for (const place of places) nodes.push(await FleetNode.at({ ...place, databaseUrl, leaseMs, drainMs, hear }))
    const isShort = minutes < 1
    const nemesis = new Nemesis({
      ...{ nodes, postgres, random: seededRandom(random.int(1, 2 ** 31)), leaseMs, drainMs },
      deployed: isShort ? 2 : nodes.length,
      tell: (fault) => progress(`fleet: ${fault}`),
    })
    await nemesis.startAll()
    const people = new People(
      nodes.filter(({ kind }) => kind === 'api'),
      seededRandom(random.int(1, 2 ** 31)),
    )
    const stories = new Stories(people, history, seededRandom(random.int(1, 2 ** 31)))
    const told = Array.from({ length: isShort ? storytellers.short : storytellers.long }, () => stories.tell())
    await nemesis.run(Date.now() + minutes * 60_000)
    await nemesis.heal()
    const healedAt = Date.now()
    progress('fleet: healed')
    people.giveUpAt(healedAt + healedWithinMs)
    stories.stop()
    await Promise.all(told)
    const store = await openStore({ store: 'postgres', url: databaseUrl })
    try {
      await untilAtRest(store, healedAt + healedWithinMs)
      const restMs = Date.now() - healedAt
      const kept = await readKept(store)
      const later = nodes.find(({ build }) => build === 'later')
      const doctor = (await later?.examine(healedWithinMs)) ?? [
        'there is no node of the later build to examine the store',
      ]
      const counts = {
        ...tally.counts(kept),
        faults: nemesis.counts,
        stories: stories.begun,
        restMs,
        longestCloseMs: nemesis.longestCloseMs,
        hanging: nemesis.hanging.join('; '),
        refusals: people.refusals(),
      }
      const violations = [...brokenRules({ history, kept }), ...stories.unfinished, ...doctor]
      return { violations, notExercised: notExercised(nemesis.counts, tally.counts(kept)), counts }
    } finally {
      await store.close()
    }
  } finally {
    for (const node of nodes) await node.destroy()
    await postgres.destroy()
  }
}

async function untilAtRest(store: Store, giveUpAt: number): Promise<void> {
  while (Date.now() < giveUpAt) {
    const restless = await Promise.all(
      (['active', 'suspended'] as const).map((status) => store.listConversations({ status, limit: 1 })),
    )
    if (restless.flat().length === 0) return
    await sleep(100)
  }
}

await runCommand(import.meta, fleet)
