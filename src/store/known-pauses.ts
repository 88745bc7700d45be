import { type Clock, monotonic } from '../base/clock.ts'
import type { ConversationRef } from './records.ts'
import type { PausableRow, Pause, Steering } from './steering.ts'

/** How long a reader believes that nothing is paused. */
const believedMs = 1_000

/** For readers of many rows: whether each is paused. While nothing is, the store is asked at most once a second. */
export class KnownPauses {
  readonly #steering: Steering | undefined
  readonly #clock: Pick<Clock, 'monotonic'>
  /** When the store said last that nothing is paused. */
  #nothingAt = Number.NEGATIVE_INFINITY

  constructor(steering: Steering | undefined, clock: Pick<Clock, 'monotonic'>) {
    this.#steering = steering
    this.#clock = clock
  }

  /** Must be called when this process has paused something. */
  forget(): void {
    this.#nothingAt = Number.NEGATIVE_INFINITY
  }

  /** As of a second ago where nothing was paused then, else as of now. */
  async of(rows: readonly PausableRow[]): Promise<(Pause | null)[]> {
    if (!this.#steering || rows.length === 0 || (await this.#isNothingPaused())) return rows.map(() => null)
    return this.#steering.pausesOf(rows)
  }

  /** Of one conversation. Its agent is asked for only while something is paused. */
  async ofConversation(ref: ConversationRef, agentOf: () => Promise<string | null>): Promise<Pause | null> {
    if (!this.#steering || (await this.#isNothingPaused())) return null
    return (await this.#steering.pausesOf([{ ...ref, agent: await agentOf() }]))[0] ?? null
  }

  /** As of now. */
  async ofNow(row: PausableRow): Promise<Pause | null> {
    return (await this.#steering?.pausesOf([row]))?.[0] ?? null
  }

  /** As of now. */
  async isPaused(row: PausableRow): Promise<boolean> {
    return (await this.ofNow(row)) !== null
  }

  async #isNothingPaused(): Promise<boolean> {
    const now = monotonic(this.#clock)
    if (now - this.#nothingAt < believedMs) return true
    const isNothing = (await this.#steering!.pauses({ limit: 1 })).length === 0
    if (isNothing) this.#nothingAt = now
    return isNothing
  }
}
