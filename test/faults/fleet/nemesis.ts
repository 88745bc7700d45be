import { setTimeout as sleep } from 'node:timers/promises'
import type { RunningPostgres } from '../../setup/start-postgres.ts'
import type { SeededRandom } from '../harness/seeded-random.ts'
import type { Build } from './agents.ts'
import type { FleetNode } from './fleet-node.ts'

/** Every fault there is, with how often it was brought about. */
export type FaultCounts = Record<Fault, number>

const nodeFaults = ['kill worker', 'kill api', 'stop worker', 'stop api', 'deploy', 'clock'] as const
const linkFaults = [
  'cut',
  'half-open',
  'hanging connection',
  'lost acknowledgement',
  'restart',
  'crash of postgres',
] as const

export const faults = [...nodeFaults, ...linkFaults]

export type Fault = (typeof nodeFaults)[number] | (typeof linkFaults)[number]

export type NemesisParts = {
  readonly nodes: readonly FleetNode[]
  readonly postgres: Pick<RunningPostgres, 'stop' | 'restart'>
  readonly random: SeededRandom
  readonly leaseMs: number
  readonly drainMs: number
  /** How many nodes one deploy replaces. */
  readonly deployed: number
  /** The longest pause between two faults: in between, work must get on. */
  readonly pauseMs: number
  readonly tell: (text: string) => void
}

/** How far clocks are off. */
const skews = [0, 10 * 60_000, -10 * 60_000, 20 * 60_000] as const

/** What a node is sent when its acknowledgement is lost: commits, leases, renewals. */
const markers = ['commit_', 'claim_lease', 'release_lease', 'keep_leases'] as const

/** How long an acknowledgement that can be lost is waited for. */
const loseWithinMs = 6_000

/** How long after its time a node that closes may take before it counts as hanging. */
const closeSlackMs = 10_000

/** Brings the faults about: those of nodes one after another, and those of links and database beside them. */
export class Nemesis {
  readonly counts = Object.fromEntries(faults.map((fault) => [fault, 0])) as FaultCounts
  /** Nodes that did not end when a deploy closed them. */
  readonly hanging: string[] = []
  readonly #parts: NemesisParts
  /** What is being done to each node: one thing at a time. */
  readonly #busy = new Map<FleetNode, Promise<void>>()
  #longestCloseMs = 0
  #nextBuild: Build = 'later'

  constructor(parts: NemesisParts) {
    this.#parts = parts
  }

  get longestCloseMs(): number {
    return this.#longestCloseMs
  }

  /** Goes through all faults once, in an order of chance, and again until the time is up. */
  async run(untilMs: number): Promise<void> {
    await Promise.all([this.#lane(nodeFaults, untilMs), this.#lane(linkFaults, untilMs)])
  }

  async startAll(): Promise<void> {
    const start = (node: FleetNode, index: number): Promise<void> =>
      this.#alone(node, () => this.#start(node, index % 2 === 0 ? 'later' : 'earlier'))
    await Promise.all(this.#parts.nodes.map(start))
  }

  /** Ends what lasts. Nodes stay as they are, and connections that are silent stay silent: to notice is theirs. */
  async heal(): Promise<void> {
    for (const { link } of this.#parts.nodes) link.hangNewAt(null)
    for (const kind of ['worker', 'api'] as const) {
      const alike = this.#parts.nodes.filter((node) => node.kind === kind)
      if (!alike.some(({ build }) => build === 'later')) await this.#replace(alike[0]!, 'later')
    }
  }

  /** A node that ended by itself is started again, as a process manager does. */
  async revive(name: string): Promise<void> {
    const node = this.#parts.nodes.find((candidate) => candidate.name === name)
    if (node) await this.#alone(node, () => this.#startIfDown(node))
  }

  /** While something else goes on. */
  async killAnyWorker(): Promise<void> {
    await this.#kill(this.#one('kill worker'))
  }

  async #lane(lane: readonly Fault[], untilMs: number): Promise<void> {
    const { random } = this.#parts
    do {
      for (const fault of shuffled(lane, random)) await this.#try(fault)
    } while (Date.now() < untilMs)
    for (const fault of lane.filter((one) => this.counts[one] === 0)) await this.#try(fault)
  }

  async #try(fault: Fault): Promise<void> {
    await sleep(this.#parts.random.int(100, this.#parts.pauseMs))
    this.#parts.tell(fault)
    if (await this.#bring(fault)) this.counts[fault] += 1
  }

  /** False when there was nothing to hit. */
  async #bring(fault: Fault): Promise<boolean> {
    const { random, nodes, leaseMs } = this.#parts
    const any = random.pick(nodes)
    switch (fault) {
      case 'kill worker':
      case 'kill api':
        return this.#kill(this.#one(fault))
      case 'stop worker':
      case 'stop api':
        return this.#stop(this.#one(fault))
      case 'deploy':
        return this.#deploy()
      case 'clock':
        any.setClock(random.pick(skews.slice(1)))
        return true
      case 'cut': {
        const wasOpen = any.link.open > 0
        any.link.cut()
        return wasOpen
      }
      case 'half-open': {
        const wasOpen = any.link.open > 0
        any.link.freeze()
        return wasOpen
      }
      case 'hanging connection':
        any.link.hangNewAt('SET')
        any.link.cut()
        await sleep(random.int(500, 1.5 * leaseMs))
        any.link.hangNewAt(null)
        return true
      case 'lost acknowledgement':
        return this.#loseAcknowledgement()
      case 'restart':
      case 'crash of postgres':
        return this.#restart(fault === 'restart' ? 'fast' : 'immediate')
    }
  }

  #one(fault: 'kill worker' | 'kill api' | 'stop worker' | 'stop api'): FleetNode {
    const { nodes, random } = this.#parts
    return random.pick(nodes.filter(({ kind }) => fault.endsWith(kind)))
  }

  async #kill(node: FleetNode): Promise<boolean> {
    await this.#alone(node, async () => {
      await node.kill()
      await sleep(this.#parts.random.int(0, 800))
      await this.#start(node, node.build)
    })
    return true
  }

  /** Long enough to lose its leases. */
  async #stop(node: FleetNode): Promise<boolean> {
    const { leaseMs, random } = this.#parts
    await this.#alone(node, async () => {
      node.signal('SIGSTOP')
      await sleep(leaseMs * (1.2 + random.next()))
      node.signal('SIGCONT')
    })
    return true
  }

  /** One node after the other gets the other build. */
  async #deploy(): Promise<boolean> {
    const { nodes, deployed, random } = this.#parts
    const build = this.#nextBuild
    this.#nextBuild = build === 'later' ? 'earlier' : 'later'
    for (const node of shuffled(nodes, random).slice(0, deployed)) await this.#replace(node, build)
    return true
  }

  async #replace(node: FleetNode, build: Build): Promise<void> {
    const patienceMs = 2 * this.#parts.drainMs + closeSlackMs
    await this.#alone(node, async () => {
      const closed = await node.close(patienceMs)
      if ('tookMs' in closed) this.#longestCloseMs = Math.max(this.#longestCloseMs, closed.tookMs)
      else this.hanging.push(`${node.name} had closed ${closed.hangsAfter} after ${patienceMs} ms, and hung`)
      await this.#start(node, build)
    })
  }

  async #loseAcknowledgement(): Promise<boolean> {
    const { nodes, random } = this.#parts
    const cuts = nodes.map(({ cutting }) => cutting.cutAfter(random.pick(markers)))
    await Promise.race([sleep(loseWithinMs), ...cuts.map(({ wasCut }) => wasCut)])
    for (const { callOff } of cuts) callOff()
    return (await Promise.all(cuts.map(({ wasCut }) => wasCut))).includes(true)
  }

  async #restart(mode: 'fast' | 'immediate'): Promise<boolean> {
    const { postgres, random } = this.#parts
    await postgres.stop(mode)
    await sleep(random.int(100, 1_500))
    await postgres.restart()
    return true
  }

  async #start(node: FleetNode, build: Build): Promise<void> {
    const { random } = this.#parts
    await node.start({ build, skewMs: random.pick(skews), work: random.chance(0.5) })
  }

  async #startIfDown(node: FleetNode): Promise<void> {
    if (node.isDown) await this.#start(node, node.build)
  }

  async #alone(node: FleetNode, work: () => Promise<void>): Promise<void> {
    const before = this.#busy.get(node) ?? Promise.resolve()
    const done = before.then(work)
    this.#busy.set(node, done)
    await done
  }
}

export function shuffled<T>(items: readonly T[], random: SeededRandom): T[] {
  const rest = [...items]
  return items.map(() => rest.splice(random.int(0, rest.length - 1), 1)[0]!)
}
