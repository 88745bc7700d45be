import { callIdOfChild } from '../../src/log/child-call.ts'
import type { Store } from '../../src/store/store.ts'
import type { SimulatedProcess } from './simulated-process.ts'

type Held = { readonly process: SimulatedProcess; readonly epoch: number }

/** The stalled process: where it stopped, and what it held by then. */
type Stalled = {
  readonly process: SimulatedProcess
  readonly since: number
  readonly isTelling: boolean
  readonly held: ReadonlyMap<string, number>
}

/** Follows who holds what, and counts the processes that came back after another had taken what they held. */
export class Zombies {
  readonly #data: Store
  readonly #held = new Map<string, Held>()
  readonly #telling = new Set<SimulatedProcess>()
  #stalled: Stalled | null = null
  readonly counts = { zombies: 0, childZombies: 0, tellingZombies: 0 }

  constructor(data: Store) {
    this.#data = data
  }

  get since(): number | null {
    return this.#stalled?.since ?? null
  }

  leased(id: string, epoch: number, process: SimulatedProcess): void {
    this.#held.set(id, { process, epoch })
  }

  /** Of the latest lease. */
  epochOf(id: string): number {
    return this.#held.get(id)?.epoch ?? 0
  }

  /** It begins or ends to tell a parent how its child ended. */
  tells(process: SimulatedProcess, isTelling: boolean): void {
    if (isTelling) this.#telling.add(process)
    else this.#telling.delete(process)
  }

  async stall(process: SimulatedProcess, since: number): Promise<void> {
    process.stall()
    const isTelling = this.#telling.has(process)
    const mine = [...this.#held].filter(([, held]) => held.process === process)
    const held = new Map<string, number>()
    this.#stalled = { process, since, isTelling, held }
    for (const [id, { epoch }] of mine) if ((await this.#epochInStore(id)) === epoch) held.set(id, epoch)
  }

  resume(): void {
    if (!this.#stalled) return
    const { process, held, isTelling } = this.#stalled
    this.#stalled = null
    const lost = [...held].filter(([id, epoch]) => this.epochOf(id) !== epoch).map(([id]) => id)
    const hasLostChild = lost.some((id) => callIdOfChild(id) !== null)
    if (lost.length > 0) this.counts.zombies += 1
    if (hasLostChild) this.counts.childZombies += 1
    if (hasLostChild && isTelling) this.counts.tellingZombies += 1
    process.resume()
  }

  #epochInStore(id: string): Promise<number | null> {
    return this.#data.upkeep!.snapshot(async (reader) => (await reader.conversation('default', id))?.leaseEpoch ?? null)
  }
}
