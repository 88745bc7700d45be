import { setTimeout as sleep } from 'node:timers/promises'
import { jobsOf } from '../../src/store/jobs.ts'
import type { Store } from '../../src/store/store.ts'
import { freshDatabase } from '../setup/fresh-database.ts'
import { type RunningPostgres, startPostgres } from '../setup/start-postgres.ts'
import { keepEvidence, Timeline } from './fleet/evidence.ts'
import { readActs, readKept } from './fleet/facts.ts'
import { FleetNode } from './fleet/fleet-node.ts'
import { emptyHistory } from './fleet/history.ts'
import { beginLeaseAudit, readLeaseAudit } from './fleet/lease-audit.ts'
import { Nemesis } from './fleet/nemesis.ts'
import { Operators } from './fleet/operators.ts'
import { People } from './fleet/people.ts'
import { brokenRules } from './fleet/rules.ts'
import { Stories } from './fleet/stories.ts'
import { notExercised, Tally } from './fleet/tally.ts'
import { progress, runCommand } from './harness/command.ts'
import { type SeededRandom, seededRandom } from './harness/seeded-random.ts'
import { openStore } from './harness/target.ts'
import { type Finding, judge, type Verdict } from './harness/verdict.ts'

export type FleetOptions = {
  readonly seed: number
  /** How long faults are brought about, at least: each of them comes once. Default: 2. */
  readonly minutes?: number
}

const leaseMs = 2_000
const drainMs = 1_000
const places = [
  { name: 'worker1', kind: 'worker' },
  { name: 'worker2', kind: 'worker' },
  { name: 'worker3', kind: 'worker' },
  { name: 'api1', kind: 'api' },
  { name: 'api2', kind: 'api' },
] as const
/** A short run has each fault once, and neither poison nor kills during bulk jobs, which take their time. */
const short = { storytellers: 4, deployed: 2, pauseMs: 800 }
const long = { storytellers: 8, deployed: places.length, pauseMs: 2_500 }

/** From the end of the last fault until everything that was begun must have ended, but what bulk jobs do. */
const healedWithinMs = 30_000
/** Bulk jobs keep their pace, and each has as many conversations as the run has begun. */
const jobsWithinMs = 180_000

/** Three workers and two API nodes over one Postgres, with all that can happen to them. */
export async function fleet({ seed, minutes = 2 }: FleetOptions): Promise<Verdict> {
  return judge({ program: 'fleet', store: 'postgres', seed }, [{ name: 'fleet', find: () => run(seed, minutes) }])
}

async function run(seed: number, minutes: number): Promise<Finding> {
  const postgres = await startPostgres()
  const nodes: FleetNode[] = []
  try {
    return await endure({ postgres, nodes, seed, minutes })
  } finally {
    for (const node of nodes) await node.destroy()
    await postgres.destroy()
  }
}

type Scene = {
  readonly postgres: RunningPostgres
  /** Filled here, so that its nodes are ended whatever happens. */
  readonly nodes: FleetNode[]
  readonly seed: number
  readonly minutes: number
}

async function endure({ postgres, nodes, seed, minutes }: Scene): Promise<Finding> {
  const databaseUrl = await freshDatabase(postgres.url)
  const random = seededRandom(seed)
  const fork = (): SeededRandom => seededRandom(random.int(1, 2 ** 31))
  const history = emptyHistory()
  const timeline = new Timeline()
  const tally = new Tally(history, timeline)
  const deaths: string[] = []
  const shared = {
    ...{ databaseUrl, leaseMs, drainMs },
    hear: tally.hear.bind(tally),
    onDeath: (node: string, complaint: string, isPoisoned: boolean) => {
      timeline.note(`${node} died: ${complaint}`)
      if (!isPoisoned) deaths.push(`${node} died: ${complaint}`)
      nemesis.revive(node).catch((error: unknown) => deaths.push(String(error)))
    },
  }
  for (const place of places) nodes.push(await FleetNode.at({ ...place, ...shared }))
  const tell = (text: string): void => {
    timeline.note(text)
    progress(`fleet: ${text}`)
  }
  const isShort = minutes < 1
  const { storytellers, ...size } = isShort ? short : long
  const nemesis = new Nemesis({ nodes, postgres, random: fork(), leaseMs, drainMs, tell, ...size })
  await makeTables(databaseUrl)
  await beginLeaseAudit(databaseUrl)
  await nemesis.startAll()
  const apis = nodes.filter(({ kind }) => kind === 'api')
  const people = new People(apis, fork())
  const stories = new Stories(people, history, fork())
  const strike = async (): Promise<void> => (isShort ? undefined : nemesis.killAnyWorker())
  const operators = new Operators({ people, history, strike, random: fork(), tell, pauseMs: size.pauseMs })
  const told = Array.from({ length: storytellers }, () => stories.tell())
  if (!isShort) told.push(stories.poison())
  const until = Date.now() + minutes * 60_000
  await Promise.all([nemesis.run(until), operators.run(until)])
  await nemesis.heal()
  const atRest = new AbortController()
  const healing = operators.heal(atRest.signal)
  tell('healed')
  const healedAt = Date.now()
  people.giveUpAt(healedAt + healedWithinMs)
  stories.stop()
  await Promise.all(told)
  // Operators go on asking until all is at rest.
  people.giveUpAt(healedAt + jobsWithinMs + 2 * healedWithinMs)

  const store = await openStore({ store: 'postgres', url: databaseUrl })
  try {
    await untilEvery(() => jobsHaveEnded(store), healedAt + jobsWithinMs)
    const jobsMs = Date.now() - healedAt
    await untilEvery(() => isAtRest(store), healedAt + jobsMs + healedWithinMs)
    const restMs = Date.now() - healedAt
    atRest.abort()
    await healing
    const facts = {
      ...{ history, kept: await readKept(store), leases: await readLeaseAudit(databaseUrl) },
      ...{ acts: await readActs(store), jobs: await jobsOf(store).list({ limit: 1_000 }) },
    }
    const violations = [
      ...brokenRules(facts),
      ...stories.unfinished,
      ...deaths,
      ...nemesis.hanging,
      ...brokenRequests(people),
      ...(await examine(nodes)),
    ]
    if (violations.length > 0) progress(`fleet: evidence is in ${keepEvidence(seed, timeline, facts)}`)
    const seen = tally.counts(facts)
    const { longestCloseMs } = nemesis
    const faults = { ...nemesis.counts, ...operators.counts }
    const counts = { ...seen, faults, stories: stories.begun, jobsMs, restMs, longestCloseMs }
    return {
      violations,
      notExercised: notExercised(faults, seen, isShort),
      counts: { ...counts, refusals: people.refusals() },
    }
  } finally {
    await store.close()
  }
}

/** An error of a kind that no fault explains. */
function brokenRequests(people: People): string[] {
  const times = people.refusals()['server_failed'] ?? 0
  return times > 0 ? [`${times} requests were answered with server_failed`] : []
}

/** Whether all nodes have recovered, and what the doctor says, of a build that knows every event. */
async function examine(nodes: readonly FleetNode[]): Promise<string[]> {
  const notReady = await Promise.all(nodes.map((node) => node.notReady(healedWithinMs)))
  const doctor = nodes.find(({ build }) => build === 'later')
  if (!doctor) throw new Error('there is no node of the later build')
  return [...notReady.filter((problem) => problem !== null), ...(await doctor.examine(2 * healedWithinMs))]
}

async function makeTables(url: string): Promise<void> {
  const store = await openStore({ store: 'postgres', url })
  await store.listConversations({ limit: 1 })
  await store.close()
}

async function untilEvery(isSo: () => Promise<boolean>, giveUpAt: number): Promise<void> {
  while (Date.now() < giveUpAt && !(await isSo())) await sleep(100)
}

async function jobsHaveEnded(store: Store): Promise<boolean> {
  return (await jobsOf(store).list({ limit: 1_000 })).every(({ finishedAt }) => finishedAt !== null)
}

async function isAtRest(store: Store): Promise<boolean> {
  const restless = await Promise.all(
    (['active', 'suspended'] as const).map((status) => store.listConversations({ status, limit: 1 })),
  )
  return restless.flat().length === 0
}

await runCommand(import.meta, fleet)
