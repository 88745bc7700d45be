import { AsyncLocalStorage } from 'node:async_hooks'
import type { Clock } from '../../src/base/clock.ts'

/** The failpoint a process died at. Whatever catches it is dead, too. */
export class Killed extends Error {}

/** Something that runs until it is killed, and can be stopped and set going again. Code finds the process it runs in by its async context. */
export class SimulatedProcess {
  readonly name: string
  /** False for processes that nothing happens to. */
  readonly isMortal: boolean
  #isDead = false
  #held: (() => void)[] | null = null

  constructor(name: string, isMortal: boolean) {
    this.name = name
    this.isMortal = isMortal
  }

  static current(): SimulatedProcess | undefined {
    return context.getStore()
  }

  get isDead(): boolean {
    return this.#isDead
  }

  get isStalled(): boolean {
    return this.#held !== null
  }

  kill(): void {
    this.#isDead = true
    this.#held = null
  }

  stall(): void {
    this.#held ??= []
  }

  resume(): void {
    const held = this.#held ?? []
    this.#held = null
    for (const work of held) this.enter(work)
  }

  /** Runs something in this process: later when it is stalled, never when it is dead. */
  enter(work: () => void): void {
    if (this.#isDead) return
    if (this.#held) this.#held.push(work)
    else context.run(this, work)
  }

  /** Resolves when the process may go on: at once, after a stall, or never. */
  goOn(): Promise<void> | undefined {
    if (!this.#isDead && !this.#held) return undefined
    return new Promise((resolve) => this.enter(resolve))
  }

  clock(clock: Clock): Clock {
    return { ...clock, after: (delayMs, callback) => clock.after(delayMs, () => this.enter(callback)) }
  }
}

const context = new AsyncLocalStorage<SimulatedProcess>()
