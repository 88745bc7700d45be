import { type Clock, withTimeout } from '../../base/clock.ts'
import { PerdureError, packageVersion } from '../../base/errors/perdure-error.ts'
import type { Drain, Nodes } from '../../store/nodes.ts'
import type { LogOwner } from '../log-owner.ts'
import type { EngineNode } from '../node.ts'

type BeatingNode = Pick<
  EngineNode,
  'store' | 'holder' | 'leaseMs' | 'clock' | 'warnOfStore' | 'agents' | 'flows' | 'maxConcurrentTurns'
>

type HeartbeatOptions = {
  /** False for a node that runs nothing. */
  readonly works: boolean
  /** Called when an operator has the node drain, and with null when it may work again. */
  readonly onDrain: (drain: Drain | null) => void
}

/** Leases are renewed every third of their length. Reporting more than once a second would add nothing. */
const shortestMs = 1_000

/** How long a closing node waits for the store to remove it. The store removes silent nodes later in any case. */
const leaveMs = 1_000

/** Reports to the store that this process is alive and what it can run, with one small statement per renewal interval. */
export class NodeHeartbeat {
  readonly #node: BeatingNode
  readonly #nodes: Nodes | null
  readonly #options: HeartbeatOptions
  readonly #everyMs: number
  readonly #agents: readonly string[]
  #drain: Drain | null = null
  #callOff: () => void = () => {}
  #underWay: Promise<void> | null = null
  #isKnown = false
  #isStopped = false

  constructor(node: BeatingNode, options: HeartbeatOptions) {
    this.#node = node
    this.#nodes = node.store.nodes ?? null
    this.#options = options
    this.#everyMs = Math.max(shortestMs, Math.floor(node.leaseMs / 3))
    this.#agents = [...node.agents.keys(), ...node.flows.sessionAgents()]
  }

  /** A node that runs nothing may be a command that ends in a moment: it waits with its first beat. */
  start(): void {
    if (this.#nodes) this.#next(this.#options.works ? 0 : shortestMs)
  }

  /** Beats at once, because the drain of this node has changed. Does not reject. */
  async hurry(): Promise<void> {
    if (!this.#nodes || this.#isStopped) return
    this.#callOff()
    await this.#underWay
    await this.#beat()
    this.#next(this.#everyMs)
  }

  /** Does not reject. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#callOff()
    const { clock } = this.#node
    if (this.#isKnown || this.#underWay !== null) await withTimeout(this.#leave(), leaveMs, clock, () => {})
  }

  #next(inMs: number): void {
    if (this.#isStopped) return
    this.#callOff()
    this.#callOff = this.#node.clock.after(inMs, () => void this.#beat().then(() => this.#next(this.#everyMs)))
  }

  #beat(): Promise<void> {
    this.#underWay ??= this.#tell().finally(() => {
      this.#underWay = null
    })
    return this.#underWay
  }

  async #tell(): Promise<void> {
    const { holder, maxConcurrentTurns, warnOfStore } = this.#node
    try {
      const drain = await this.#nodes!.beat({
        holder,
        version: packageVersion,
        works: this.#options.works,
        capacity: maxConcurrentTurns,
        agents: this.#agents,
        agentCount: this.#agents.length,
        everyMs: this.#everyMs,
        drain: this.#drain,
      })
      this.#isKnown = true
      const isNews = drain?.at !== this.#drain?.at
      this.#drain = drain
      if (isNews && !this.#isStopped) this.#options.onDrain(drain)
    } catch (error) {
      // From here the store may be away, and closing must not wait for it.
      this.#isKnown = false
      const isClosed = PerdureError.isInstance(error) && error.code === 'store_closed'
      if (isClosed) this.#isStopped = true
      else if (!this.#isStopped) warnOfStore('announcing this node to the store failed; trying again', { error })
    }
  }

  async #leave(): Promise<void> {
    await this.#underWay
    if (!this.#isKnown) return
    // Best effort: a node that is not heard of is forgotten.
    await this.#nodes!.leave(this.#node.holder).catch(() => {})
  }
}

type Held = { readonly owner: Pick<LogOwner, 'close'> | null }

/** A node that an operator has drain: it takes nothing, and when its time is over it hands over what it still holds. */
export class NodeDrain {
  readonly #clock: Clock
  readonly #held: () => Iterable<Held>
  #state: 'off' | 'draining' | 'handing_over' = 'off'
  #callOff: () => void = () => {}

  constructor(clock: Clock, held: () => Iterable<Held>) {
    this.#clock = clock
    this.#held = held
  }

  /** Whether the node takes nothing. */
  get isOn(): boolean {
    return this.#state !== 'off'
  }

  /** Whether what is loaded now must be handed over at once. */
  get isOver(): boolean {
    return this.#state === 'handing_over'
  }

  begin(drainMs: number): void {
    if (this.isOn) return
    this.#state = 'draining'
    this.#callOff = this.#clock.after(drainMs, () => {
      this.#state = 'handing_over'
      for (const { owner } of this.#held()) void owner?.close()
    })
  }

  end(): void {
    this.#state = 'off'
    this.#callOff()
  }
}
