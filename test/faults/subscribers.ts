import { setTimeout as sleep } from 'node:timers/promises'
import type { Store } from '../../src/store/store.ts'
import { note } from '../../src/testing/conformance/event-builders.ts'
import { progress, runCommand } from './harness/command.ts'
import { examined } from './harness/examined.ts'
import { type SeededRandom, seededRandom } from './harness/seeded-random.ts'
import { type Child, spawnChild } from './harness/spawn-child.ts'
import { openStore, type Target } from './harness/target.ts'
import { type Finding, judge, type Verdict } from './harness/verdict.ts'
import { type Place, withTarget } from './harness/with-target.ts'
import { subscriberName, type WorkerMessage, type WorkerOrder } from './subscribers/order.ts'

const wholeRun = 10_000
const patienceMs = 200_000

/**
 * A process delivers what another one commits to a receiver that fails a third of the time, and is killed three times: before it runs, after it has run, and
 * at any moment. Each event must reach the receiver at least once, and none before the one ahead of it in its conversation was taken.
 */
export async function subscribers(
  options: Place & { readonly seed: number; readonly rounds?: number },
): Promise<Verdict> {
  const { store, seed, rounds = wholeRun } = options
  const find = (): Promise<Finding> =>
    withTarget(options, (target) => examined(target, deliverAll(target, seed, rounds)))
  return judge({ program: 'subscribers', store, seed }, [{ name: 'deliver', find }])
}

async function deliverAll(target: Target, seed: number, events: number): Promise<Finding> {
  const random = seededRandom(seed)
  const store = await openStore(target)
  const record = new Record()
  const workers = new Workers(target, seed, record)
  try {
    await store.outbox!.register([{ name: subscriberName, types: ['note'], agent: null }])
    const share = Math.max(2, Math.floor(events / 8))
    const killed = workers.killThrice([
      { failpoint: 'outbox.before_run', passing: random.int(1, share) },
      { failpoint: 'outbox.after_run', passing: random.int(1, share) },
      { afterTold: random.int(1, share) },
    ])
    const committed = await commitAll(store, random, events)
    const kills = await killed
    await untilDelivered(store, record)
    const { waiting, failed } = (await store.outbox!.subscribers())[0]!
    const violations = [
      ...record.violations,
      ...missing(committed, record),
      ...(waiting + failed > 0 ? [`${waiting} deliveries wait and ${failed} failed in the end`] : []),
    ]
    const counts = { events, kills, told: record.told, refused: record.refused, twice: record.twice }
    return { violations, notExercised: kills === 3 ? [] : [`${kills} of 3 kills`], counts }
  } finally {
    await workers.end()
    await store.close()
  }
}

/** In several conversations at once, so that a stuck one has others beside it. */
async function commitAll(store: Store, random: SeededRandom, events: number): Promise<Map<string, number>> {
  const lengths = new Map<string, number>()
  const ids = Array.from({ length: Math.min(40, events) }, (_, index) => `chat ${index}`)
  for (const id of ids) await store.putConversation(id, {})
  let left = events
  const writer = async (own: readonly string[]): Promise<void> => {
    while (left > 0) {
      left -= 1
      const id = random.pick(own)
      lengths.set(id, await store.appendEvent(id, note('counted')))
    }
  }
  const share = Math.ceil(ids.length / 8)
  await Promise.all(
    Array.from({ length: Math.ceil(ids.length / share) }, (_, n) => writer(ids.slice(n * share, (n + 1) * share))),
  )
  return lengths
}

/** What the receiver was told, checked as it comes. */
class Record {
  readonly violations: string[] = []
  /** The last seq of each conversation that the receiver has taken. */
  readonly taken = new Map<string, number>()
  readonly #events = new Map<string, string>()
  told = 0
  refused = 0
  twice = 0

  tell({ id, seq, event, ok }: Extract<WorkerMessage, { type: 'told' }>): void {
    this.told += 1
    const last = this.taken.get(id) ?? 0
    const known = this.#events.get(event)
    if (known !== undefined && known !== `${id} ${seq}`) this.violations.push(`the id ${event} stands for two events`)
    this.#events.set(event, `${id} ${seq}`)
    if (seq > last + 1) this.violations.push(`${id} ${seq} was told when only ${last} had been taken`)
    // Only what a killed process had not recorded comes again, and that is the last one.
    if (seq < last) this.violations.push(`${id} ${seq} was told again after ${last}`)
    if (seq === last) this.twice += 1
    if (!ok) this.refused += 1
    else this.taken.set(id, Math.max(last, seq))
  }
}

type Kill = { readonly failpoint: string; readonly passing: number } | { readonly afterTold: number }

/** One process at a time. */
class Workers {
  readonly #target: Target
  readonly #seed: number
  readonly #record: Record
  #current: Child | null = null

  constructor(target: Target, seed: number, record: Record) {
    this.#target = target
    this.#seed = seed
    this.#record = record
  }

  /** Leaves a process behind that is not killed. Returns how many were. */
  async killThrice(kills: readonly Kill[]): Promise<number> {
    let count = 0
    for (const [index, kill] of kills.entries()) {
      const end = await this.#start(this.#seed + index, kill).ended
      if (end.signal === 'SIGKILL') count += 1
      else this.#record.violations.push(`a process ended by itself: ${end.complaint}`)
      progress(`subscribers ${this.#target.store}: killed ${count} of ${kills.length}`)
    }
    this.#start(this.#seed + kills.length, null)
    return count
  }

  async end(): Promise<void> {
    this.#current?.kill()
    await this.#current?.ended
  }

  #start(seed: number, kill: Kill | null): Child {
    const input: WorkerOrder = { target: this.#target, seed, kill: kill && 'failpoint' in kill ? kill : null }
    let left = kill && 'afterTold' in kill ? kill.afterTold : Number.POSITIVE_INFINITY
    const child = spawnChild<WorkerMessage>({
      script: new URL('./subscribers/worker.ts', import.meta.url),
      input,
      onMessage: (message) => {
        if (message.type !== 'told') return
        this.#record.tell(message)
        left -= 1
        if (left === 0) child.kill()
      },
    })
    this.#current = child
    return child
  }
}

async function untilDelivered(store: Store, record: Record): Promise<void> {
  for (const giveUpAt = Date.now() + patienceMs; Date.now() < giveUpAt; await sleep(50)) {
    const { waiting } = (await store.outbox!.subscribers())[0]!
    if (waiting === 0 || record.violations.length > 100) return
  }
}

function missing(committed: ReadonlyMap<string, number>, { taken }: Record): string[] {
  return [...committed].flatMap(([id, length]) =>
    taken.get(id) === length ? [] : [`${id} has ${length} events, and ${taken.get(id) ?? 0} were taken`],
  )
}

await runCommand(import.meta, subscribers)
