import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startFaultyProxy } from '../../support/faulty-proxy.ts'
import { type Child, spawnChild } from '../harness/spawn-child.ts'
import { startCuttingProxy } from '../lost-acknowledgement/cutting-proxy.ts'
import type { Build } from './agents.ts'
import type { NodeInput, NodeMessage, NodeOrder } from './node.ts'

/** What a node takes along through its restarts. */
export type Place = {
  readonly name: string
  readonly kind: 'worker' | 'api'
  readonly databaseUrl: string
  readonly leaseMs: number
  readonly drainMs: number
  readonly hear: (message: NodeMessage, node: string) => void
  /** Called when it ended, and was neither killed nor closed. `isPoisoned`: it said what of. */
  readonly onDeath: (node: string, complaint: string, isPoisoned: boolean) => void
}

const startWithinMs = 60_000

/** A place in the fleet: a process with its own way to the database, which is killed, stopped, closed and started again. */
export class FleetNode {
  readonly name: string
  readonly kind: Place['kind']
  readonly #place: Place
  readonly #cutting: Awaited<ReturnType<typeof startCuttingProxy>>
  readonly #faulty: Awaited<ReturnType<typeof startFaultyProxy>>
  readonly #heard = new Map<NodeMessage['type'], (message: NodeMessage) => void>()
  #child: Child | null = null
  #port: number | null
  #build: Build = 'earlier'

  private constructor(place: Place, cutting: FleetNode['cutting'], faulty: FleetNode['link']) {
    this.name = place.name
    this.kind = place.kind
    this.#place = place
    this.#cutting = cutting
    this.#faulty = faulty
    this.#port = place.kind === 'api' ? 0 : null
  }

  static async at(place: Place): Promise<FleetNode> {
    const cutting = await startCuttingProxy(place.databaseUrl)
    return new FleetNode(place, cutting, await startFaultyProxy(cutting.url))
  }

  /** Its process has ended, or was never started. */
  get isDown(): boolean {
    return this.#child === null
  }

  get build(): Build {
    return this.#build
  }

  /** Of an API node. */
  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  /** Goes silent, or is cut. */
  get link(): Awaited<ReturnType<typeof startFaultyProxy>> {
    return this.#faulty
  }

  /** Loses acknowledgements. */
  get cutting(): Awaited<ReturnType<typeof startCuttingProxy>> {
    return this.#cutting
  }

  /** Resolves when it is ready, or has died on the way. `work`: of API nodes; workers always do. */
  async start({ build, skewMs, work }: Pick<NodeInput, 'build' | 'skewMs' | 'work'>): Promise<void> {
    const { name, kind, leaseMs, drainMs, hear, onDeath } = this.#place
    const input: NodeInput = {
      ...{ name, url: this.#faulty.url, build, skewMs, port: this.#port, leaseMs, drainMs },
      work: kind === 'worker' || work,
    }
    this.#build = build
    const ready = this.#next('ready')
    const later = new URL('./later-build.ts', import.meta.url).href
    let isPoisoned = false
    const child = spawnChild<NodeMessage>({
      script: new URL('./node.ts', import.meta.url),
      input,
      // Nodes start often, and mostly from the same sources.
      environment: { NODE_COMPILE_CACHE: join(tmpdir(), 'node-compile-cache') },
      nodeArguments: build === 'later' ? ['--import', later] : [],
      onMessage: (message) => {
        hear(message, name)
        if (message.type === 'poisoned') isPoisoned = true
        this.#heard.get(message.type)?.(message)
      },
    })
    this.#child = child
    const ended = child.ended.then(({ complaint }) => {
      if (this.#child !== child) return null
      this.#child = null
      onDeath(name, complaint, isPoisoned)
      return null
    })
    const told = await inTime(Promise.race([ready, ended]), startWithinMs, `the start of ${name}`)
    this.#port = told?.port ?? this.#port
  }

  async kill(): Promise<void> {
    const child = this.#child
    this.#child = null
    child?.kill()
    await child?.ended
  }

  signal(name: 'SIGSTOP' | 'SIGCONT'): void {
    if (this.#child) process.kill(this.#child.pid, name)
  }

  setClock(skewMs: number): void {
    this.#order({ type: 'clock', skewMs })
  }

  /** Lets it finish, as a deploy does, and tells how long that took. One that has not ended within `patienceMs` is killed. */
  async close(patienceMs: number): Promise<{ readonly tookMs: number } | { readonly hangsAfter: string }> {
    const child = this.#child
    if (!child) return { tookMs: 0 }
    const closed = this.#next('closed')
    // What it works on may end it meanwhile.
    const ended = child.ended.then(() => ({ tookMs: 0 }))
    let hangsAfter = 'nothing'
    this.#heard.set('closing', (message) => {
      if (message.type === 'closing') hangsAfter = message.part
    })
    this.#order({ type: 'close' })
    try {
      return await inTime(Promise.race([closed, ended]), patienceMs, 'closing')
    } catch {
      return { hangsAfter }
    } finally {
      await this.kill()
    }
  }

  /** Null when it is ready within `patienceMs`; else what it says of itself. */
  async notReady(patienceMs: number): Promise<string | null> {
    for (const giveUpAt = Date.now() + patienceMs; ; ) {
      const readiness = this.#next('readiness')
      this.#order({ type: 'ready?' })
      const { isReady, told } = await inTime(readiness, patienceMs, `asking whether ${this.name} is ready`)
      if (isReady) return null
      if (Date.now() > giveUpAt) return `${this.name} is not ready: ${told}`
    }
  }

  async examine(patienceMs: number): Promise<readonly string[]> {
    const examined = this.#next('examined')
    this.#order({ type: 'examine' })
    return (await inTime(examined, patienceMs, 'the examination')).faults
  }

  async destroy(): Promise<void> {
    this.signal('SIGCONT')
    await this.kill()
    await this.#faulty.close()
    await this.#cutting.close()
  }

  #order(order: NodeOrder): void {
    this.#child?.tell(JSON.stringify(order))
  }

  #next<Type extends NodeMessage['type']>(type: Type): Promise<Extract<NodeMessage, { type: Type }>> {
    return new Promise((resolve) => {
      this.#heard.set(type, (message) => resolve(message as Extract<NodeMessage, { type: Type }>))
    })
  }
}

async function inTime<T>(work: Promise<T>, ms: number, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} took longer than ${ms} ms`)), ms)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
